import type { DynamicModule, Provider, ValueProvider } from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import type { ModulesContainer } from '@nestjs/core';
import type { ServiceVariables } from './service-variables.js';

const MODULE_VARIABLES = Symbol('variables of a module');

/**
 * For the module of a package: declares environment variables, which its providers inject like the variables of the service. The service
 * needs nothing but the import of the module.
 *
 * @example
 * @Module({ providers: [Mailer, provideVariables(MAIL_VARIABLES)] })
 * export class MailModule {}
 */
export function provideVariables(variables: ServiceVariables): ValueProvider<ServiceVariables> {
  return { provide: MODULE_VARIABLES, useValue: variables };
}

/** The variables of a service and of the modules that it imports. */
export function withVariablesOf(
  modules: Iterable<unknown>,
  ofService: ServiceVariables,
): ServiceVariables {
  return merged(
    ofService,
    [...modules].flatMap((module) => providersOf(module).flatMap(variablesOf)),
  );
}

/** Like {@link withVariablesOf}, when nothing is known but what Nest has found. */
export function withFoundVariables(
  modules: ModulesContainer,
  ofService: ServiceVariables,
): ServiceVariables {
  const found = [...modules.values()].map(({ providers }) => providers.get(MODULE_VARIABLES));
  return merged(
    ofService,
    found.flatMap((wrapper) =>
      wrapper === undefined ? [] : [wrapper.instance as ServiceVariables],
    ),
  );
}

/** @throws TypeError if two have a variable of one name */
function merged(ofService: ServiceVariables, others: readonly ServiceVariables[]) {
  const variables: Record<string, ServiceVariables[string]> = { ...ofService };
  for (const [name, variable] of [...new Set(others)].flatMap((each) => Object.entries(each))) {
    if (name in variables) {
      throw new TypeError(`two modules declare the variable ${name}: one needs another name`);
    }
    variables[name] = variable;
  }
  return variables;
}

function providersOf(module: unknown): readonly Provider[] {
  const providers =
    typeof module === 'function'
      ? (Reflect.getMetadata(MODULE_METADATA.PROVIDERS, module) as Provider[] | undefined)
      : (module as DynamicModule).providers;
  return providers ?? [];
}

function variablesOf(provider: Provider): readonly ServiceVariables[] {
  if (!('provide' in provider) || provider.provide !== MODULE_VARIABLES) return [];
  return [(provider as ValueProvider<ServiceVariables>).useValue];
}
