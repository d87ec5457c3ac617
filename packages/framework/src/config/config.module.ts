import { Global, Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { StartupError } from '../errors/startup.error.js';
import { readConfig, withDatabase } from './config.js';
import type { ServiceConfig } from './config.js';
import type { Identity } from './identity.js';
import { Variables } from './inject-variables.decorator.js';
import { withFoundVariables } from './module-variables.js';
import type { ServiceVariables } from './service-variables.js';

export const CONFIG = Symbol('CONFIG');

/** The configuration that the process has read already. */
export const GIVEN_CONFIG = Symbol('GIVEN_CONFIG');

@Global()
@Module({
  providers: [
    {
      provide: Variables,
      inject: [CONFIG],
      useFactory: ({ variables }: ServiceConfig) => variables,
    },
  ],
  exports: [Variables],
})
export class ConfigModule {
  static forRoot(
    identity: Identity,
    variables: ServiceVariables,
    hasVerifiers: boolean,
  ): DynamicModule {
    const config = {
      provide: CONFIG,
      inject: [ModulesContainer, { token: GIVEN_CONFIG, optional: true }],
      useFactory: (modules: ModulesContainer, given?: ServiceConfig) =>
        given ?? ofEnvironment(identity, withFoundVariables(modules, variables), hasVerifiers),
    };
    return { module: ConfigModule, providers: [config], exports: [config] };
  }
}

/** For `Test.createTestingModule(…)`: nothing else has connected, and nothing else will. */
function ofEnvironment(...of: Parameters<typeof ConfigModule.forRoot>): ServiceConfig {
  const [identity, variables, hasVerifiers] = of;
  const config = readConfig(identity, process.env, variables, hasVerifiers);
  const { url } = config.database;
  if (url === undefined) {
    throw new StartupError(
      'a test that compiles the application needs DATABASE_URL and AUTH_TOKEN; createTestingService(…) makes a database by itself',
    );
  }
  const { database, ...others } = withDatabase(config, url);
  return { ...others, database: { ...database, connectsAtOnce: true } };
}
