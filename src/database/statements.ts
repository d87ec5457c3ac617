import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { poolOf } from './bounded-pool.js';

/**
 * A statement with its values. A session of our own keeps one that has a name, and its plan, prepared: a name
 * belongs to one text alone.
 */
export type Statement = QueryConfig<unknown[]>;

/** SQL of our own, where it must be cheaper than TypeORM's, or cannot be said with it. */
@Injectable()
export class Statements {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Runs one statement in a transaction of its own, in one round trip.
   *
   * @throws PlantStoreError `database-unavailable`, or `overloaded` when all connections are taken
   * @throws DatabaseError when the statement is at fault
   */
  async run<Row extends QueryResultRow>(statement: Statement): Promise<QueryResult<Row>> {
    const client = await poolOf(this.dataSource)?.lend();
    if (client === undefined) throw new Error('the database is not connected yet');
    try {
      return await client.query<Row>(statement);
    } finally {
      client.release();
    }
  }
}
