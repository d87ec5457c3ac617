import { Module } from '@nestjs/common';
import type { DynamicModule, Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { AuthModule } from '../auth/auth.module.js';
import type { AuthOptions } from '../auth/auth.module.js';
import { ConfigModule } from '../config/config.module.js';
import type { Identity } from '../config/identity.js';
import { DatabaseModule } from '../database/database.module.js';
import { ManagementServer } from '../management/management-server.js';
import { ObservabilityModule } from '../observability/observability.module.js';
import { ResourcesModule } from '../resources/resources.module.js';

export interface IdentifiedModule extends DynamicModule {
  readonly identity: Identity;
}

export interface FrameworkOptions {
  /** Verifiers for credentials that only this service knows. */
  readonly auth?: AuthOptions;
}

/**
 * What a service has besides its resources. To be imported by the module for `bootstrap`.
 *
 * ```ts
 * imports: [FrameworkModule.forRoot(IDENTITY, { auth: { verifiers: [LabTokenVerifier] } })],
 * ```
 */
@Module({})
export class FrameworkModule {
  static forRoot(identity: Identity, { auth }: FrameworkOptions = {}): IdentifiedModule {
    return {
      module: FrameworkModule,
      identity,
      imports: [
        ConfigModule,
        ObservabilityModule,
        DatabaseModule,
        AuthModule.forRoot(auth),
        ResourcesModule,
      ],
      providers: [ManagementServer],
      // For the AuthGuard that the application provides.
      exports: [AuthModule],
    };
  }
}

/** @throws TypeError if the module does not import `FrameworkModule.forRoot(…)` */
export function identityOf(app: Type): Identity {
  const imports = (Reflect.getMetadata(MODULE_METADATA.IMPORTS, app) ?? []) as readonly unknown[];
  const framework = imports.find(
    (module): module is IdentifiedModule =>
      typeof module === 'object' && (module as DynamicModule).module === FrameworkModule,
  );
  if (framework === undefined) {
    throw new TypeError(`${app.name} does not import FrameworkModule.forRoot(…)`);
  }
  return framework.identity;
}
