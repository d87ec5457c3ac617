import { Module } from '@nestjs/common';
import type { DynamicModule, ForwardReference, OnModuleInit, Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AuthModule } from '../auth/auth.module.js';
import type { AuthOptions } from '../auth/auth.module.js';
import { ConfigModule } from '../config/config.module.js';
import type { Identity } from '../config/identity.js';
import { withVariablesOf } from '../config/module-variables.js';
import type { ServiceVariables } from '../config/service-variables.js';
import { DatabaseModule } from '../database/database.module.js';
import { StartupError } from '../errors/startup.error.js';
import { ServiceAdapter } from '../http/server/service.adapter.js';
import { ManagementServer } from '../management/management-server.js';
import { ObservabilityModule } from '../observability/observability.module.js';
import { ResourcesModule } from '../resources/resources.module.js';

export interface FrameworkOptions {
  /** The environment variables of the service, made by `variable`. */
  readonly variables?: ServiceVariables;
  /** Verifiers for credentials that only this service knows. */
  readonly auth?: AuthOptions;
  /**
   * Configures the application before it starts, as `main.ts` does in Nest's documentation: versions, global interceptors, middleware.
   * In the service, in its tests, and for its OpenAPI document.
   */
  readonly configure?: (app: NestExpressApplication) => unknown;
}

export interface ServiceModule extends DynamicModule {
  readonly identity: Identity;
  readonly variables: ServiceVariables;
  readonly configure: FrameworkOptions['configure'];
  /** Whether the service knows credentials that no variable sets. */
  readonly hasVerifiers: boolean;
}

/** What a service has besides its resources. To be imported by the module for `bootstrap`, or by a module that it imports. */
@Module({})
export class FrameworkModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  /**
   * @example
   * FrameworkModule.forRoot(IDENTITY, {
   *   variables: VARIABLES,
   *   auth: { verifiers: [LabTokenVerifier] },
   *   configure: (app) => app.enableVersioning({ type: VersioningType.URI }),
   * })
   */
  static forRoot(
    identity: Identity,
    { variables = {}, auth, configure }: FrameworkOptions = {},
  ): ServiceModule {
    const hasVerifiers = auth !== undefined && auth.verifiers.length > 0;
    return {
      module: FrameworkModule,
      identity,
      variables,
      configure,
      hasVerifiers,
      imports: [
        ConfigModule.forRoot(identity, variables, hasVerifiers),
        ObservabilityModule,
        DatabaseModule,
        AuthModule.forRoot(auth),
        ResourcesModule,
      ],
      providers: [ManagementServer],
    };
  }

  /** @throws StartupError for a server that would send numbers and errors as Nest does */
  onModuleInit(): void {
    const { httpAdapter } = this.host;
    // Nest has none in a test without requests.
    if (!httpAdapter || httpAdapter instanceof ServiceAdapter) return;
    throw new StartupError(
      'requests need the server of the framework: start a test with createTestingService(…) instead of createNestApplication()',
    );
  }
}

/** @throws TypeError unless the module or those that it imports import one `FrameworkModule.forRoot(…)` */
export function serviceModuleOf(app: Type): ServiceModule {
  const imported = importedBy(app);
  const modules = [...imported].filter(
    (module): module is ServiceModule => (module as DynamicModule).module === FrameworkModule,
  );
  const [module] = modules;
  if (module === undefined) {
    throw new TypeError(`${app.name} does not import FrameworkModule.forRoot(…)`);
  }
  if (modules.length > 1) {
    throw new TypeError(`${app.name} imports FrameworkModule.forRoot(…) more than once`);
  }
  return { ...module, variables: withVariablesOf(imported, module.variables) };
}

type Imported = Type | DynamicModule | ForwardReference<() => Imported> | Promise<DynamicModule>;

/** A module, and all that it imports. What a promise imports is not known yet. */
function importedBy(given: Imported, found = new Set<Imported>()): ReadonlySet<Imported> {
  const module = given && 'forwardRef' in given ? given.forwardRef() : given;
  // An import that is not loaded yet, which Nest rejects.
  if (!module || found.has(module)) return found;
  found.add(module);
  if (typeof module === 'function') {
    const imports = (Reflect.getMetadata(MODULE_METADATA.IMPORTS, module) ?? []) as Imported[];
    for (const each of imports) importedBy(each, found);
  } else if ('module' in module) {
    importedBy(module.module, found);
    for (const each of module.imports ?? []) importedBy(each as Imported, found);
  }
  return found;
}
