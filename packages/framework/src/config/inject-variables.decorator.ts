import { Inject } from '@nestjs/common';
import type { ServiceVariable, ServiceVariables } from './service-variables.js';

/** Token of the values: `inject: [Variables]` in a factory. In a constructor, {@link InjectVariables}. */
export const Variables = Symbol('Variables');

/** The values of the variables of a table, by name. */
export type Variables<Table extends ServiceVariables> = {
  readonly [Name in keyof Table]: Table[Name] extends ServiceVariable<infer Value> ? Value : never;
};

/**
 * Injects the values of the service's own variables.
 *
 * @example
 * constructor(@InjectVariables() { SMTP_URL }: Variables<typeof VARIABLES>) {}
 */
export const InjectVariables = (): ParameterDecorator => Inject(Variables);
