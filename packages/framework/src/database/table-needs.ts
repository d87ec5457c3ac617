import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { tableNames } from './data-source.js';
import type { Privilege } from './data-source.js';

const NEEDS = Symbol('needs');

/** What the table of an entity needs besides its columns. */
export interface TableNeeds {
  /** Of the service's role. */
  readonly privileges?: readonly Privilege[];
  /** Functions of SQL that the service calls, such as `move_tools()`. An error in one concerns all rows of a statement. */
  readonly functions?: readonly string[];
  /** Logs a warning of what a comparison of entities and tables does not show. `migration:generate` calls it. */
  readonly check?: (dataSource: DataSource, logger: Logger) => Promise<void>;
  /** What `migration:generate` adds to a migration that creates the table. */
  readonly creation?: TableCreation;
}

/** Source of a migration, each without a semicolon, such as `await createMoves(queryRunner, 'tools')`. */
export interface TableCreation {
  readonly names: readonly string[];
  /** The module that has the names. */
  readonly from: string;
  /** After the table is created. */
  readonly up: string;
  /** Before the table is dropped. */
  readonly down: string;
}

type Needs = (table: string) => TableNeeds;

/** Also for the entities that extend the class. The modules need not say it then. */
export function setTableNeeds(entity: Type, needsOf: Needs): void {
  Reflect.defineMetadata(NEEDS, needsOf, entity);
}

export function tableNeedsOf(entity: Function): TableNeeds {
  const needsOf = Reflect.getMetadata(NEEDS, entity) as Needs | undefined;
  const [table] = tableNames([entity]);
  return table === undefined ? {} : (needsOf?.(table) ?? {});
}
