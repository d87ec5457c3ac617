import { Module } from '@nestjs/common';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import type { Logger } from 'pino';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { secretOf } from '../config/secret-file.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { AuthGuard } from './auth.guard.js';
import { IssuerKeys } from './issuer-keys.js';
import { JwtVerifier } from './jwt.verifier.js';
import { ScopeCheck } from './scope-check.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { StaticTokens } from './static-tokens.js';
import { TOKEN_VERIFIERS } from './token-verifier.js';
import type { TokenVerifier } from './token-verifier.js';

/** Until release 1.1.0, each valid JWT was permitted everything. */
const NO_DEFAULT_SCOPES =
  'AUTH_JWT_DEFAULT_SCOPES is not set: a JWT without a claim "scope" or "scp" is refused with 403. ' +
  'Set it to the scopes of such tokens, for example "plants:read plants:write", or to "none"';

@Module({
  imports: [DiscoveryModule],
  providers: [
    ScopeCheck,
    { provide: IssuerKeys, inject: [CONFIG, LOGGER, Metrics], useFactory: issuerKeys },
    { provide: StaticTokens, inject: [CONFIG, LOGGER], useFactory: staticTokens },
    { provide: TOKEN_VERIFIERS, inject: [CONFIG, IssuerKeys, StaticTokens], useFactory: verifiers },
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
})
export class AuthModule {}

function issuerKeys({ auth }: Config, logger: Logger, metrics: Metrics): IssuerKeys | undefined {
  if (auth.jwt === undefined) return undefined;
  if (auth.jwt.defaultScopes === undefined) logger.warn(NO_DEFAULT_SCOPES);
  return new IssuerKeys(auth.jwt, logger, metrics);
}

function staticTokens(config: Config, logger: Logger): StaticTokens | undefined {
  const { token, previousToken } = config.auth;
  if (token === undefined) return undefined;
  return new StaticTokens(
    secretOf('AUTH_TOKEN', token, config, logger),
    secretOf('AUTH_TOKEN_PREVIOUS', previousToken, config, logger),
  );
}

function verifiers(
  { auth }: Config,
  keys: IssuerKeys | undefined,
  tokens: StaticTokens | undefined,
): readonly TokenVerifier[] {
  return [
    ...(tokens === undefined ? [] : [new StaticTokenVerifier(tokens)]),
    ...(auth.jwt === undefined || keys === undefined ? [] : [new JwtVerifier(auth.jwt, keys)]),
  ];
}
