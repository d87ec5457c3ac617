import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { AuthGuard } from './auth.guard.js';
import { IssuerKeys } from './issuer-keys.js';
import { JwtVerifier } from './jwt.verifier.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

@Module({
  providers: [
    { provide: TOKEN_VERIFIERS, inject: [CONFIG], useFactory: verifiers },
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
})
export class AuthModule {}

function verifiers({ auth }: Config): readonly TokenVerifier[] {
  return [
    ...(auth.token === undefined ? [] : [new StaticTokenVerifier(auth.token)]),
    ...(auth.jwt === undefined ? [] : [new JwtVerifier(auth.jwt, new IssuerKeys(auth.jwt))]),
  ];
}
