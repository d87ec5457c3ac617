import { SetMetadata } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { Config } from './config.js';

const CONDITION = Symbol('CONDITION');

type Condition = (config: Config) => boolean;

/**
 * A controller whose routes exist only with some configurations. Otherwise, its paths get 404 (40400).
 *
 * @example
 * @EnabledWhen(({ changes }) => changes.enabled !== false)
 * @Controller('loan-reports')
 */
export const EnabledWhen = (condition: Condition): ClassDecorator =>
  SetMetadata(CONDITION, condition);

/** To be called before the initialization, which adds the routes. */
export function removeDisabled(app: INestApplication, config: Config): void {
  for (const { controllers } of app.get(ModulesContainer).values()) {
    for (const [token, { metatype }] of controllers) {
      if (metatype === null) continue;
      const condition = Reflect.getMetadata(CONDITION, metatype) as Condition | undefined;
      if (condition?.(config) === false) controllers.delete(token);
    }
  }
}
