import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { connect } from './own-postgres.js';

/** Where ids begin: nobody else uses these. */
const FIRST_ID = -1_000_000n;

/** Records a create like the service. The id is `$1`. */
export const RECORDED_CREATE = `WITH stored AS (INSERT INTO plants (id, name) VALUES ($1, 'open') RETURNING id, name)
  INSERT INTO plant_changes (kind, principal, request_id, id, name)
  SELECT 'created', 'static-token:AUTH_TOKEN', 'open', id, name FROM stored
  WHERE (SELECT begin_plant_changes()) IS NOT NULL`;

/** Clients of the database that hold their transactions open after they have taken positions, and end half of them with ROLLBACK. */
export class OpenWriters {
  committed = 0;
  rolledBack = 0;
  private last = FIRST_ID;
  private ended = false;
  private readonly clients: Promise<unknown>;

  /** @param databaseUrl of the next connection */
  constructor(
    private readonly databaseUrl: () => string,
    private readonly longest = 300,
    count = 3,
  ) {
    this.clients = Promise.all(Array.from({ length: count }, () => this.run()));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.clients;
  }

  private async run(): Promise<void> {
    while (!this.ended) {
      let client: Client | undefined;
      try {
        client = await connect(this.databaseUrl());
        while (!this.ended) await this.write(client);
      } catch {
        // The server was killed, and the transaction with it, or the schema is not there yet.
        await sleep(20);
      } finally {
        await client?.end().catch(() => {});
      }
    }
  }

  private async write(client: Client): Promise<void> {
    await client.query("BEGIN; SET LOCAL lock_timeout = '2s'");
    try {
      for (let records = 0; records < 3; records += 1) {
        this.last -= 1n;
        await client.query(RECORDED_CREATE, [this.last]);
        await sleep((Math.random() * this.longest) / 3);
      }
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
    const commits = Math.random() < 0.5;
    await client.query(commits ? 'COMMIT' : 'ROLLBACK');
    if (commits) this.committed += 1;
    else this.rolledBack += 1;
  }
}
