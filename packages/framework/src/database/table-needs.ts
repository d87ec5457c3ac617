import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { tableNames } from './data-source.js';
import type { Privilege } from './migrations/grants.js';

const NEEDS = Symbol('needs');

/** What the table of an entity needs besides its columns. */
export interface TableNeeds {
  /** The privileges of the service's role on it. */
  readonly privileges?: readonly Privilege[];
  /** Functions of SQL that the service calls, such as `move_tools()`. */
  readonly functions?: readonly string[];
  /** Logs a warning of what no difference between entities and tables shows. `migration:generate` calls it. */
  readonly check?: (dataSource: DataSource, logger: Logger) => Promise<void>;
}

type Needs = (table: string) => TableNeeds;

/** Says what the tables of an entity, and of those that extend its class, need: then their modules need not say it. */
export function setTableNeeds(entity: Type, needsOf: Needs): void {
  Reflect.defineMetadata(NEEDS, needsOf, entity);
}

/** What the table of an entity needs, if its class says so. */
export function tableNeedsOf(entity: Function): TableNeeds {
  const needsOf = Reflect.getMetadata(NEEDS, entity) as Needs | undefined;
  const [table] = tableNames([entity]);
  return table === undefined ? {} : (needsOf?.(table) ?? {});
}
