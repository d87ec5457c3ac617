import type { Type } from '@nestjs/common';
import { ISSUED_TOKENS_SCHEMA } from '../auth/issued-tokens/schema.js';
import type { Config } from '../config/config.js';
import type { DatabaseSchema } from '../database/data-source.js';

/** A part of the service that can be left out, such as a resource. `src/features.ts` lists the features of the service. */
export interface Feature extends DatabaseSchema {
  readonly module: Type;
  /** By default, always. The tables exist in any case. */
  readonly isEnabled?: (config: Config) => boolean;
}

/** The tables of the framework and of all features. */
export function schemaOf(features: readonly Feature[]): DatabaseSchema {
  const parts: readonly DatabaseSchema[] = [ISSUED_TOKENS_SCHEMA, ...features];
  return {
    entities: parts.flatMap(({ entities }) => entities),
    migrations: parts.flatMap(({ migrations }) => migrations),
    privileges: new Map(parts.flatMap(({ privileges = [] }) => [...privileges])),
    functions: parts.flatMap(({ functions = [] }) => functions),
  };
}
