import { Injectable } from '@nestjs/common';
import { ERRORS, InjectVariables, ServiceException, Variables } from '@resource-service/framework';
import type { Principal, TokenVerifier } from '@resource-service/framework';
import { errors, jwtVerify } from 'jose';
import { IDENTITY } from '../identity.js';
import type { VARIABLES } from '../variables.js';

const EXPECTED = {
  algorithms: ['HS256'],
  audience: IDENTITY.name,
  requiredClaims: ['sub', 'exp'],
};

const SCOPES = new Set(['rooms:read', 'bookings:read', 'bookings:write']);

/** Tokens of guests: JWTs that the website signs with a secret that it shares with this service. */
@Injectable()
export class GuestVerifier implements TokenVerifier {
  constructor(@InjectVariables() private readonly variables: Variables<typeof VARIABLES>) {}

  async verify(token: string | undefined): Promise<Principal | undefined> {
    const { GUESTS_SECRET: secret } = this.variables;
    if (token === undefined || secret === undefined) return undefined;
    try {
      const { payload } = await jwtVerify(token, secret, EXPECTED);
      return { kind: 'guest', id: payload.sub!, scopes: SCOPES };
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ServiceException(ERRORS.tokenExpired);
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}
