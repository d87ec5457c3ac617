import { Module } from '@nestjs/common';
import type { DynamicModule, ForwardReference, Type } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import { AuthModule } from '../auth/auth.module.js';
import type { AuthOptions } from '../auth/auth.module.js';
import { ConfigModule } from '../config/config.module.js';
import type { Identity } from '../config/identity.js';
import type { ServiceVariables } from '../config/service-variables.js';
import { DatabaseModule } from '../database/database.module.js';
import { ManagementServer } from '../management/management-server.js';
import { ObservabilityModule } from '../observability/observability.module.js';
import { ResourcesModule } from '../resources/resources.module.js';

export interface FrameworkOptions {
  /** The environment variables of the service, made by `variable`. */
  readonly variables?: ServiceVariables;
  /** Verifiers for credentials that only this service knows. */
  readonly auth?: AuthOptions;
}

/** What the service has said in `forRoot`. */
export interface ServiceModule extends DynamicModule {
  readonly identity: Identity;
  readonly variables: ServiceVariables;
}

/** What a service has besides its resources. To be imported by the module for `bootstrap`, or by a module that it imports. */
@Module({})
export class FrameworkModule {
  /**
   * @example
   * FrameworkModule.forRoot(IDENTITY, {
   *   variables: VARIABLES,
   *   auth: { verifiers: [LabTokenVerifier] },
   * })
   */
  static forRoot(
    identity: Identity,
    { variables = {}, auth }: FrameworkOptions = {},
  ): ServiceModule {
    return {
      module: FrameworkModule,
      identity,
      variables,
      imports: [
        ConfigModule,
        ObservabilityModule,
        DatabaseModule,
        AuthModule.forRoot(auth),
        ResourcesModule,
      ],
      providers: [ManagementServer],
    };
  }
}

/** @throws TypeError unless the module or those that it imports import one `FrameworkModule.forRoot(…)` */
export function serviceModuleOf(app: Type): ServiceModule {
  const modules = [...importedBy(app)].filter(
    (module): module is ServiceModule => (module as DynamicModule).module === FrameworkModule,
  );
  const [module] = modules;
  if (module === undefined) {
    throw new TypeError(`${app.name} does not import FrameworkModule.forRoot(…)`);
  }
  if (modules.length > 1) {
    throw new TypeError(`${app.name} imports FrameworkModule.forRoot(…) more than once`);
  }
  return module;
}

/** @throws TypeError as {@link serviceModuleOf} */
export function identityOf(app: Type): Identity {
  return serviceModuleOf(app).identity;
}

type Imported = Type | DynamicModule | ForwardReference<() => Imported> | Promise<DynamicModule>;

/** A module, and all that it imports. What a promise imports is not known yet. */
function importedBy(given: Imported, found = new Set<Imported>()): ReadonlySet<Imported> {
  const module = 'forwardRef' in given ? given.forwardRef() : given;
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
