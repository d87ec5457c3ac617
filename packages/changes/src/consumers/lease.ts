import { setTimeout as sleep } from 'node:timers/promises';
import type { Statements } from '@resource-service/framework';

/** In milliseconds. A replica that dies hands over when its lease has ended, and another one has tried again. */
export const LEASE = { duration: 15_000, renewal: 5_000 } as const;

const UNTIL = `now() + interval '${LEASE.duration} milliseconds'`;

/** The name of a consumer, and the replica. */
type Owner = readonly [name: string, holder: string];

/** The right of a replica to run a consumer, in a row of `change_consumers`: it needs no session, so it works behind poolers. */
export class Lease {
  private readonly lost = new AbortController();
  private readonly ended = new AbortController();
  private confirmedAt = performance.now();

  private constructor(
    private readonly statements: Statements,
    private readonly owner: Owner,
    /** `undefined`: the consumer begins anew. */
    public position: bigint | undefined,
  ) {
    void this.keep();
  }

  /** @returns `undefined` if another replica has it */
  static async take(statements: Statements, owner: Owner): Promise<Lease | undefined> {
    const [name] = owner;
    await statements.rows({
      text: 'INSERT INTO change_consumers (name) VALUES ($1) ON CONFLICT DO NOTHING',
      values: [name],
    });
    const [found] = await statements.rows<[string | null]>({
      text: `UPDATE change_consumers SET holder = $2, leased_until = ${UNTIL}
        WHERE name = $1 AND (leased_until < now()) IS NOT FALSE RETURNING position`,
      values: [...owner],
    });
    return found && new Lease(statements, owner, positionOf(found));
  }

  /** Aborts when another replica may run the consumer. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /**
   * Whether this replica still has the lease, and nobody has changed the position: an operator can do so to pass over a change that
   * cannot be handled.
   */
  async isUnchanged(): Promise<boolean> {
    const found = await this.renew();
    return found !== undefined && positionOf(found) === this.position;
  }

  /**
   * Stores a position. The caller sets {@link position} when it is committed.
   *
   * @param statements of the transaction to which this belongs
   * @throws Error if the lease is lost, or somebody else has changed the position
   */
  async store(
    position: bigint,
    statements: Pick<Statements, 'rows'> = this.statements,
  ): Promise<void> {
    const sentAt = performance.now();
    const [isStored] = await statements.rows({
      text: `UPDATE change_consumers SET position = $4, leased_until = ${UNTIL}
        WHERE name = $1 AND holder = $2 AND position IS NOT DISTINCT FROM $3::bigint RETURNING true`,
      values: [...this.owner, this.position?.toString() ?? null, String(position)],
    });
    if (isStored === undefined) {
      this.lose();
      throw new Error('another replica runs the consumer, or its position was changed');
    }
    this.confirmedAt = sentAt;
  }

  lose(): void {
    this.lost.abort();
  }

  /** Lets another replica take over when it tries again, not only at the end of the lease. */
  async release(): Promise<void> {
    this.ended.abort();
    const text =
      'UPDATE change_consumers SET holder = NULL, leased_until = NULL WHERE name = $1 AND holder = $2';
    await this.statements.rows({ text, values: [...this.owner] }).catch(() => {});
  }

  private async keep(): Promise<void> {
    const { signal } = this.ended;
    for (;;) {
      await sleep(LEASE.renewal, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      // During an outage, the lease lasts as long as nobody else can have it.
      const isKept = await this.renew().then(
        (found) => found !== undefined,
        () => performance.now() - this.confirmedAt < LEASE.duration - LEASE.renewal,
      );
      if (!isKept) return this.lose();
    }
  }

  private async renew(): Promise<readonly [string | null] | undefined> {
    const sentAt = performance.now();
    const [found] = await this.statements.rows<[string | null]>({
      text: `UPDATE change_consumers SET leased_until = ${UNTIL} WHERE name = $1 AND holder = $2 RETURNING position`,
      values: [...this.owner],
    });
    if (found !== undefined) this.confirmedAt = sentAt;
    return found;
  }
}

function positionOf([position]: readonly [string | null]): bigint | undefined {
  return position === null ? undefined : BigInt(position);
}
