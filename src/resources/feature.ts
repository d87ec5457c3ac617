import type { Type } from '@nestjs/common';
import type { Migrations } from '../database/data-source.js';

/** A part of the service that can be left out, such as a resource. `src/features.ts` lists those of the service. */
export interface Feature {
  readonly module: Type;
  /** In the order of their timestamps. The service applies the migrations of all features in this order. */
  readonly migrations: Migrations;
}

export function migrationsOf(features: readonly Feature[]): Migrations {
  return features.flatMap(({ migrations }) => migrations);
}
