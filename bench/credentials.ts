import { DataSource } from 'typeorm';
import { TokenFormat } from '../packages/framework/src/auth/issued-tokens/token-format.js';
import { createToken } from '../packages/framework/src/auth/issued-tokens/token-issuance.js';
import { IDENTITY } from '../src/identity.js';
import { AUDIENCE, secondsFromNow } from '../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../test/support/start-test-issuer.js';
import { STATIC_TOKEN } from './contender.js';
import type { Contender, Credentials } from './contender.js';

/** Who send requests with JWTs, each with a token of its own. */
const JWT_CALLERS = 50;

/** Who send requests with issued tokens, each with one of its own. */
const TOKEN_CALLERS = 1_000;

const DAY = 86_400;

/** Credentials, until their issuer is closed. */
export interface IssuedCredentials extends Credentials {
  close(): Promise<void>;
}

/** Issues what the callers of a contender send. */
export async function credentialsOf(
  { credentials }: Contender,
  databaseUrl: string,
): Promise<IssuedCredentials> {
  if (credentials === undefined) return { ...STATIC_TOKEN, close: async () => {} };
  return credentials === 'issued token' ? issueTokens(databaseUrl) : issueJwts(credentials);
}

async function issueTokens(databaseUrl: string): Promise<IssuedCredentials> {
  const tokens: string[] = [];
  const dataSource = await new DataSource({ type: 'postgres', url: databaseUrl }).initialize();
  for (let n = 0; n < TOKEN_CALLERS; n += 1) {
    const issued = await createToken(dataSource, new TokenFormat(IDENTITY), {
      name: `caller-${n}`,
      scopes: ['plants:read', 'plants:write'],
      lifetime: DAY,
    });
    if (issued !== undefined) tokens.push(issued.token);
  }
  await dataSource.destroy();
  return { environment: { AUTH_ISSUED_TOKENS: 'true' }, tokens, close: async () => {} };
}

/** By an issuer on loopback. */
async function issueJwts(algorithm: string): Promise<IssuedCredentials> {
  const issuer = await startTestIssuer({ alg: algorithm });
  const claims = Array.from({ length: JWT_CALLERS }, (_, n) => ({
    sub: `caller-${n}`,
    exp: secondsFromNow(DAY),
  }));
  return {
    environment: { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: AUDIENCE },
    tokens: await Promise.all(claims.map((changes) => issuer.token(changes))),
    close: () => issuer.close(),
  };
}
