import { Module } from '@nestjs/common';
import type { DynamicModule, ValueProvider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { DatabaseSchema } from './data-source.js';
import { noteChangesFunction } from './database-error.js';
import { tableNeedsOf } from './table-needs.js';

export const SCHEMA = Symbol('SCHEMA');

const PART = Symbol('PART');

@Module({})
export class SchemaModule {
  static forRoot(): DynamicModule {
    const schema = { provide: SCHEMA, inject: [ModulesContainer], useFactory: mergedSchema };
    return { module: SchemaModule, global: true, providers: [schema], exports: [SCHEMA] };
  }

  static forFeature(part: DatabaseSchema): DynamicModule {
    return { module: SchemaModule, providers: [schemaPart(part)] };
  }
}

/** For the providers of a dynamic module whose importer owns these tables. */
export function schemaPart(part: DatabaseSchema): ValueProvider<DatabaseSchema> {
  return { provide: PART, useValue: part };
}

function mergedSchema(modules: ModulesContainer): DatabaseSchema {
  const all = [...modules.values()];
  const owners = new Map<Function, string>();
  const parts = all.flatMap((module) => {
    const part = module.providers.get(PART)?.instance as DatabaseSchema | undefined;
    const owner = part && all.find(({ imports }) => imports.has(module));
    for (const entity of part?.entities ?? []) owners.set(entity, owner?.name ?? '');
    return part ?? [];
  });
  const entities = parts.flatMap((part) => part.entities);
  const needs = entities.map((entity) => ({ entity, ...tableNeedsOf(entity) }));
  const ofTables = needs.flatMap(({ functions = [] }) => functions);
  for (const signature of ofTables) noteChangesFunction(signature);
  return {
    entities,
    owners,
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
