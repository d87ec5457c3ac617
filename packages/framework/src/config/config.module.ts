import { Global, Module } from '@nestjs/common';
import { StartupError } from '../errors/startup.error.js';
import type { ServiceConfig } from './config.js';
import { Variables } from './inject-variables.decorator.js';

export const CONFIG = Symbol('CONFIG');

/** The configuration that the process has read already. */
export const GIVEN_CONFIG = Symbol('GIVEN_CONFIG');

@Global()
@Module({
  providers: [
    {
      provide: CONFIG,
      inject: [{ token: GIVEN_CONFIG, optional: true }],
      useFactory: given,
    },
    {
      provide: Variables,
      inject: [CONFIG],
      useFactory: ({ variables }: ServiceConfig) => variables,
    },
  ],
  exports: [CONFIG, Variables],
})
export class ConfigModule {}

/** Another start would lack the server, the limits and the shutdown of a service. */
function given(config?: ServiceConfig): ServiceConfig {
  if (config !== undefined) return config;
  throw new StartupError('start the application with bootstrap(), or give a test CONFIG');
}
