import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { poolOf } from './bounded-pool.js';

/** A statement with its values. A statement with a name is prepared, so each name must always have the same text. */
export type Statement = QueryConfig<unknown[]>;

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
    const client = await poolOf(this.dataSource)?.lend();
    if (client === undefined) throw new Error('the database is not connected yet');
    try {
      return await client.query<Row>(client.hasCitus ? onCitus() : statement);
    } finally {
      client.release();
    }
  }
}
