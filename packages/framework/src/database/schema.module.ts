import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { DatabaseSchema } from './data-source.js';
import { noteChangesFunction } from './database-error.js';
import { tableNeedsOf } from './table-needs.js';

/** Injection token of the {@link DatabaseSchema} of all modules. */
export const SCHEMA = Symbol('SCHEMA');

const PART = Symbol('PART');

@Module({})
export class SchemaModule {
  static forRoot(): DynamicModule {
    const schema = { provide: SCHEMA, inject: [ModulesContainer], useFactory: mergedSchema };
    return { module: SchemaModule, global: true, providers: [schema], exports: [SCHEMA] };
  }

  static forFeature(part: DatabaseSchema): DynamicModule {
    return { module: SchemaModule, providers: [{ provide: PART, useValue: part }] };
  }
}

function mergedSchema(modules: ModulesContainer): DatabaseSchema {
  const parts = [...modules.values()].flatMap(
    ({ providers }) => (providers.get(PART)?.instance as DatabaseSchema | undefined) ?? [],
  );
  const entities = parts.flatMap((part) => part.entities);
  const needs = entities.map((entity) => ({ entity, ...tableNeedsOf(entity) }));
  const ofTables = needs.flatMap(({ functions = [] }) => functions);
  for (const signature of ofTables) noteChangesFunction(signature);
  return {
    entities,
    migrations: parts.flatMap(({ migrations }) => migrations),
    privileges: new Map([
      ...needs.flatMap(({ entity, privileges }) =>
        privileges ? [[entity, privileges] as const] : [],
      ),
      ...parts.flatMap(({ privileges = [] }) => [...privileges]),
    ]),
    functions: [...parts.flatMap(({ functions = [] }) => functions), ...ofTables],
  };
}
