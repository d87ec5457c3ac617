import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Bulkheads } from '../bulkheads.js';
import type { PoolClient } from '../connections/pool-client.js';
import { Statements } from '../statements.js';

/** The service's own statements, which can need any row. */
@Injectable()
export class OwnStatements extends Statements {
  constructor(
    dataSource: DataSource,
    private readonly bulkheads: Bulkheads,
  ) {
    super(dataSource);
  }

  protected override lend<Result>(use: (client: PoolClient) => Promise<Result>): Promise<Result> {
    return this.bulkheads.apart(this.bulkheads.statements, (lockWait) =>
      super.lend((client) =>
        lockWait === undefined ? use(client) : client.limitingLockWait(lockWait, () => use(client)),
      ),
    );
  }
}
