import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { QueryResult, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import { Metrics } from '../observability/metrics.js';
import { Readiness } from '../observability/readiness.js';
import type { BoundedPool } from './bounded-pool.js';

export interface Statement {
  /** Under which a session of our own keeps it, and its plan, prepared; of this text alone. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

const NO_USE = { used: 0, idle: 0, pending: 0, max: 0 };

/** SQL of our own, where it must be cheaper than TypeORM's, or cannot be said with it. */
@Injectable()
export class Statements {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    metrics: Metrics,
    readiness: Readiness,
  ) {
    metrics.observePool(() => this.pool?.use ?? NO_USE);
    readiness.require(() =>
      this.pool?.isOnStandby === true ? 'the database is a standby' : undefined,
    );
  }

  /**
   * Runs one statement in a transaction of its own, in one round trip.
   *
   * @throws PlantStoreError `database-unavailable`, or `overloaded` when all connections are taken
   * @throws DatabaseError when the statement is at fault
   */
  async run<Row extends QueryResultRow>(statement: Statement): Promise<QueryResult<Row>> {
    if (this.pool === undefined) throw new Error('the database is not connected yet');
    const client = await this.pool.lend();
    try {
      return await client.query<Row>({ ...statement, values: [...statement.values] });
    } finally {
      client.release();
    }
  }

  /** TypeORM's pool; there is none before the first connection. */
  private get pool(): BoundedPool | undefined {
    return (this.dataSource.driver as unknown as { readonly master?: BoundedPool }).master;
  }
}
