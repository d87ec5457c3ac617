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

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const token = readBearerToken(context.switchToHttp().getRequest<Request>());
    for (const verifier of this.verifiers) {
      if (await verifier.verify(token)) return true;
    }
    throw new PlantStoreError('token-not-valid');
  }
}
