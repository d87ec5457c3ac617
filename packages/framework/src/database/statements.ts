import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { QueryArrayConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { EntityManager, QueryRunner } from 'typeorm';
import { poolOf } from './connections/bounded-pool.js';
import type { PoolClient } from './connections/pool-client.js';
import { extraOf } from './data-source.js';
import type { DatabaseLimits } from './limits.js';
import { repeatAfterConflict } from './repeat-after-conflict.js';

/** A statement with a name is prepared, so each name must always have one text. */
export type Statement = QueryConfig<unknown[]>;

/** A statement without values that is prepared under a name which depends on nothing but the text. */
export function prepared(text: string): { readonly name: string; readonly text: string } {
  return { name: createHash('sha256').update(text).digest('base64url'), text };
}

/**
 * An array whose elements PostgreSQL does not count before it plans. Otherwise it would plan a prepared statement with
 * few elements anew at each execution, because the plan for any array seems to cost more (manual, `PREPARE`, notes).
 */
export function uncounted(parameter: string, type: string): string {
  return `(SELECT ${parameter}::${type}[])`;
}

/**
 * Milliseconds after which a read may have an old plan, and is prepared again: after an import into an empty table,
 * PostgreSQL would read the whole table until autovacuum analyzes it (manual, `PREPARE`).
 */
const SLOW_READ = 20;

/** Runs SQL that TypeORM cannot express, or not as efficiently, each statement in one round trip. */
@Injectable()
export class Statements {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a statement in a separate transaction, which is repeated after a conflict with others.
   *
   * @param onCitus the statement for a database that is distributed with Citus
   * @throws ServiceException `database-unavailable`, `pool-exhausted` if all connections are in use, and others
   * @throws DatabaseError when the statement is at fault
   *
   * @example
   * const text = 'SELECT borrower, count(*) FROM loans WHERE due < $1 GROUP BY borrower';
   * const { rows } = await this.statements.run<{ borrower: string; count: string }>({ text, values: [today] });
   */
  run<Row extends QueryResultRow>(
    statement: Statement,
    onCitus?: () => Statement,
  ): Promise<QueryResult<Row>> {
    return repeatAfterConflict(() => this.lend((client) => send<Row>(client, statement, onCitus)));
  }

  get limits(): DatabaseLimits {
    return extraOf(this.dataSource).limits;
  }

  get isDistributed(): boolean {
    return poolOf(this.dataSource)?.hasCitus === true;
  }

  /** Like {@link run}, but reads rows as arrays of text, without an object for each row. */
  rows<Row extends readonly unknown[]>(statement: Statement): Promise<readonly Row[]> {
    return repeatAfterConflict(() => this.lend((client) => read<Row>(client, statement)));
  }

  /**
   * Statements in the transaction of a manager, which a conflict ends. Each fails if the manager has no transaction, or
   * no longer.
   */
  in(manager: EntityManager): Pick<Statements, 'run' | 'rows'> {
    // At each statement: after the transaction, the connection belongs to another user.
    const connection = (): Promise<PoolClient> => requireTransaction(manager).connect();
    return {
      run: async (statement, onCitus) => send(await connection(), statement, onCitus),
      rows: async (statement) => read(await connection(), statement),
    };
  }

  protected async lend<Result>(use: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await poolOf(this.dataSource)?.lend();
    if (client === undefined) throw new Error('the database is not connected yet');
    try {
      return await use(client);
    } finally {
      client.release();
    }
  }
}

/** @throws Error if the manager has no transaction: its statements would be committed one by one */
export function requireTransaction({ queryRunner }: EntityManager): QueryRunner {
  if (queryRunner?.isTransactionActive === true) return queryRunner;
  throw new Error(
    'the manager has no transaction, or its transaction has ended: pass the manager that `Transactions.run()` gives to `work`, and only while `work` runs',
  );
}

function send<Row extends QueryResultRow>(
  client: PoolClient,
  statement: Statement,
  onCitus?: () => Statement,
): Promise<QueryResult<Row>> {
  return client.query<Row>(onCitus && client.hasCitus ? onCitus() : statement);
}

async function read<Row extends readonly unknown[]>(
  client: PoolClient,
  statement: Statement,
): Promise<readonly Row[]> {
  // Object spread takes longer.
  const { name, text, values, types } = statement;
  // A statement that is prepared only now cannot have an old plan.
  const isPrepared = name !== undefined && client.hasPrepared(name);
  const start = performance.now();
  const config = { name, text, values, types, rowMode: 'array' } as const;
  const { rows } = await client.query<Row & QueryResultRow>(config as QueryArrayConfig);
  if (isPrepared && performance.now() - start > SLOW_READ) await client.forget(name);
  return rows;
}
