import { Global, Module } from '@nestjs/common';
import type { DynamicModule, ModuleMetadata, Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { DocumentBuilder } from '@nestjs/swagger';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';
import { secretOf } from '../config/secret-file.js';
import { SchemaModule } from '../database/schema.module.js';
import { Statements } from '../database/statements.js';
import { LOGGER } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Authenticator } from './authenticator.js';
import { IssuedTokenVerifier } from './issued-tokens/issued-token.verifier.js';
import { LastUses } from './issued-tokens/last-uses.js';
import { ISSUED_TOKENS_SCHEMA } from './issued-tokens/access-token.entity.js';
import { TokenFormat } from './issued-tokens/token-format.js';
import { TokenRegister } from './issued-tokens/token-register.js';
import { IssuerKeys } from './issuer-keys.js';
import { JwtVerifier } from './jwt.verifier.js';
import { OwnVerifier } from './own-verifier.js';
import { RateLimits } from './rate-limits.js';
import { ScopeCheck } from './scopes/scope-check.js';
import { StaticTokenVerifier } from './static-token.verifier.js';
import { BEARER_VERIFIERS, OWN_VERIFIERS } from './token-verifier.js';
import type { BearerVerifier, TokenVerifier } from './token-verifier.js';

/** Until release 1.1.0, each valid JWT was permitted everything. */
const NO_DEFAULT_SCOPES =
  'AUTH_JWT_DEFAULT_SCOPES is not set: a JWT without a claim "scope" or "scp" is rejected with 403. ' +
  'Set it to the scopes of such tokens, separated by spaces, or to "none"';

export interface AuthOptions {
  /** Classes that the module provides: they are asked in this order. */
  readonly verifiers: readonly Type<TokenVerifier>[];
  /** Modules whose exports the verifiers inject. */
  readonly imports?: ModuleMetadata['imports'];
  /**
   * How the OpenAPI document describes credentials other than a bearer token, by name.
   *
   * ```ts
   * { sessionCookie: { type: 'apiKey', in: 'cookie', name: 'session' } }
   * ```
   */
  readonly securitySchemes?: SecuritySchemes;
}

export type SecuritySchemes = Readonly<
  Record<string, Parameters<DocumentBuilder['addSecurity']>[1]>
>;

export const SECURITY_SCHEMES = Symbol('SECURITY_SCHEMES');

/** Global, for the AuthGuard that the application provides, whichever module imports the framework. */
@Global()
@Module({
  imports: [DiscoveryModule, SchemaModule.forFeature(ISSUED_TOKENS_SCHEMA)],
  providers: [
    Authenticator,
    ScopeCheck,
    RateLimits,
    { provide: IssuerKeys, inject: [CONFIG, LOGGER, Metrics], useFactory: issuerKeys },
    { provide: StaticTokenVerifier, inject: [CONFIG, LOGGER], useFactory: staticTokens },
    {
      provide: TokenRegister,
      inject: [CONFIG, DataSource, LOGGER, Metrics],
      useFactory: tokenRegister,
    },
    { provide: LastUses, inject: [CONFIG, DataSource, LOGGER], useFactory: lastUses },
    {
      provide: BEARER_VERIFIERS,
      inject: [CONFIG, OWN_VERIFIERS, IssuerKeys, StaticTokenVerifier, TokenRegister, LastUses],
      useFactory: bearerVerifiers,
    },
  ],
  exports: [Authenticator, RateLimits],
})
export class AuthModule {
  static forRoot(
    { verifiers, imports = [], securitySchemes = {} }: AuthOptions = { verifiers: [] },
  ): DynamicModule {
    const own = {
      provide: OWN_VERIFIERS,
      inject: [...verifiers],
      useFactory: (...made: readonly TokenVerifier[]) => made.map((each) => new OwnVerifier(each)),
    };
    const schemes = { provide: SECURITY_SCHEMES, useValue: securitySchemes };
    return { module: AuthModule, imports, providers: [...verifiers, own, schemes] };
  }
}

function issuerKeys({ auth }: Config, logger: Logger, metrics: Metrics): IssuerKeys | undefined {
  if (auth.jwt === undefined) return undefined;
  if (auth.jwt.defaultScopes === undefined) logger.warn(NO_DEFAULT_SCOPES);
  return new IssuerKeys(auth.jwt, logger, metrics);
}

function staticTokens(config: Config, logger: Logger): StaticTokenVerifier | undefined {
  const { token, previousToken } = config.auth;
  if (token === undefined) return undefined;
  return new StaticTokenVerifier(
    secretOf('AUTH_TOKEN', token, config, logger),
    secretOf('AUTH_TOKEN_PREVIOUS', previousToken, config, logger),
    logger,
  );
}

function tokenRegister(
  { auth }: Config,
  dataSource: DataSource,
  logger: Logger,
  metrics: Metrics,
): TokenRegister | undefined {
  if (!auth.issuedTokens) return undefined;
  const register = new TokenRegister(new Statements(dataSource), logger);
  const help = 'Time since the table of issued tokens was last read.';
  metrics.gauge(metrics.named('issued_tokens_age_seconds'), help, () => register.age / 1_000);
  return register;
}

function lastUses({ auth }: Config, dataSource: DataSource, logger: Logger): LastUses | undefined {
  return auth.issuedTokens ? new LastUses(new Statements(dataSource), logger) : undefined;
}

function bearerVerifiers(
  { identity, auth }: Config,
  own: readonly TokenVerifier[],
  keys: IssuerKeys | undefined,
  tokens: StaticTokenVerifier | undefined,
  register: TokenRegister | undefined,
  uses: LastUses | undefined,
): readonly BearerVerifier[] {
  return [
    ...(tokens === undefined ? [] : [tokens]),
    ...(register && uses
      ? [new IssuedTokenVerifier(new TokenFormat(identity), register, uses)]
      : []),
    // Before JWTs of the issuer, whose verifier rejects all others.
    ...own,
    ...(auth.jwt === undefined || keys === undefined ? [] : [new JwtVerifier(auth.jwt, keys)]),
  ];
}
