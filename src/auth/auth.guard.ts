import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { readBearerToken } from './bearer-credentials.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Guards every operation. There is no way for a controller to opt out. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(@Inject(TOKEN_VERIFIERS) private readonly verifiers: readonly TokenVerifier[]) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const note = (isAuthenticated: boolean) => (request.isAuthenticated = isAuthenticated);
    const admitted = this.admit(readBearerToken(request));
    return typeof admitted === 'boolean' ? note(admitted) : admitted.then(note);
  }

  /** Waits for nothing when the first verifier, that of the static token, knows the token at once. */
  private admit(
    token: string,
    [verifier, ...others]: readonly TokenVerifier[] = this.verifiers,
  ): boolean | Promise<boolean> {
    if (verifier === undefined) throw new PlantStoreError('token-not-valid');
    const known = verifier.verify(token);
    if (typeof known === 'boolean') return known || this.admit(token, others);
    return known.then((itIs) => itIs || this.admit(token, others));
  }
}
