import { Inject } from '@nestjs/common';
import type { ServiceVariable, ServiceVariables } from './service-variables.js';

/**
 * Token of the values, for a factory. In a constructor, {@link InjectVariables}.
 *
 * @example { provide: Mailer, inject: [Variables], useFactory: ({ SMTP_URL }: Variables<typeof VARIABLES>) => new Mailer(SMTP_URL) }
 */
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
