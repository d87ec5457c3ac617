import { AUDIENCE, secondsFromNow, TestIssuer } from '../test/support/test-issuer.js';
import type { Credentials } from './contender.js';

/** Who send requests with JWTs, each with a token of its own. */
const CALLERS = 50;

const DAY = 86_400;

/** A token issuer on loopback, for a contender with JWTs. */
export class Issuer {
  private constructor(
    private readonly issuer: TestIssuer,
    readonly credentials: Credentials,
  ) {}

  static async start(algorithm: string): Promise<Issuer> {
    const issuer = await TestIssuer.start({ alg: algorithm });
    const claims = Array.from({ length: CALLERS }, (_, n) => ({
      sub: `caller-${n}`,
      exp: secondsFromNow(DAY),
    }));
    return new Issuer(issuer, {
      environment: { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE },
      tokens: await Promise.all(claims.map((changes) => issuer.token(changes))),
    });
  }

  close(): Promise<void> {
    return this.issuer.close();
  }
}
