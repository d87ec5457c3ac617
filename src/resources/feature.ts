import type { Type } from '@nestjs/common';
import type { DatabaseSchema } from '../database/data-source.js';

/** A part of the service that can be left out, such as a resource. `src/features.ts` lists the features of the service. */
export interface Feature extends DatabaseSchema {
  readonly module: Type;
}

/** The tables of all features. */
export function schemaOf(features: readonly Feature[]): DatabaseSchema {
  return {
    entities: features.flatMap(({ entities }) => entities),
    migrations: features.flatMap(({ migrations }) => migrations),
    privileges: new Map(features.flatMap(({ privileges = [] }) => [...privileges])),
    functions: features.flatMap(({ functions = [] }) => functions),
  };
}
