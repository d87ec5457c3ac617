import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { poolOf } from './connections/bounded-pool.js';
import type { PoolClient } from './connections/pool-client.js';

/** A statement with its values. A statement with a name is prepared, so each name must always have the same text. */
export type Statement = QueryConfig<unknown[]>;

/**
 * PostgreSQL keeps the plan of a prepared statement although the table has grown since (manual, `PREPARE`). After this
 * many milliseconds, the plan may be such, so the statement is prepared again.
 */
const SLOW_READ = 20;

/** Runs SQL that TypeORM cannot express, or not as efficiently. */
@Injectable()
export class Statements {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Runs a statement in a separate transaction, in one round trip.
   *
   * @param onCitus the statement for a database that is distributed with Citus
   * @throws PlantStoreError `database-unavailable`, or `overloaded` if all connections are in use
   * @throws DatabaseError when the statement is at fault
   */
  async run<Row extends QueryResultRow>(
    statement: Statement,
    onCitus: () => Statement = () => statement,
  ): Promise<QueryResult<Row>> {
    const client = await this.lend();
    try {
      return await client.query<Row>(client.hasCitus ? onCitus() : statement);
    } finally {
      client.release();
    }
  }

  /** Whether the database is distributed with Citus. */
  get isDistributed(): boolean {
    return poolOf(this.dataSource)?.hasCitus === true;
  }

  /**
   * Reads rows as arrays of text, without an object for each row. Otherwise like {@link run}.
   *
   * @throws PlantStoreError like {@link run}
   */
  async rows<Row extends readonly unknown[]>(statement: Statement): Promise<readonly Row[]> {
    const client = await this.lend();
    try {
      const start = performance.now();
      const { rows } = await client.query<Row & QueryResultRow>({ ...statement, rowMode: 'array' });
      if (statement.name !== undefined && performance.now() - start > SLOW_READ) {
        await client.forget(statement.name);
      }
      return rows;
    } finally {
      client.release();
    }
  }

  private async lend(): Promise<PoolClient> {
    const client = await poolOf(this.dataSource)?.lend();
    if (client === undefined) throw new Error('the database is not connected yet');
    return client;
  }
}
