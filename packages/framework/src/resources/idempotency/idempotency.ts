import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy, OnModuleInit, Type } from '@nestjs/common';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import type { EntityManager } from 'typeorm';
import { Bulkheads } from '../../database/bulkheads.js';
import { insideTransaction } from '../../database/lock-waits/inside-transaction.js';
import type { Semaphore } from '../../database/semaphore.js';
import { Statements } from '../../database/statements.js';
import { Transactions } from '../../database/transactions.js';
import { ServiceException } from '../../errors/service.exception.js';
import { requireDto, restoreDto } from '../../http/body/dto.pipe.js';
import { parseAllDigits, stringifyExactJson } from '../../json/exact-json.js';
import { LOGGER } from '../../observability/logger.js';
import { rowKey } from '../locks/locked-rows.js';
import type { RowKey } from '../locks/locked-rows.js';
import { actorOf, requireActor } from '../recording/actor.js';
import type { Actor } from '../recording/actor.js';
import { prune, pruneInSteps } from '../../database/prune.js';
import { RowSlots } from '../locks/row-slots.js';
import { idempotencyErrors } from './idempotency-errors.js';
import { KEPT, KeptResponses } from './kept-responses.js';

const KEYS = { table: 'idempotency_keys', key: 'key' } as const;

const OLDEST = {
  text: `WITH removed AS (
      DELETE FROM idempotency_keys WHERE ctid IN (
        SELECT ctid FROM idempotency_keys WHERE created_at < now() - make_interval(hours => $1)
        ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
      ) RETURNING true
    ) SELECT count(*)::integer FROM removed`,
  values: [KEPT.hours],
};

interface Repeatable {
  /** The `Idempotency-Key`; `undefined`: the request cannot be repeated. */
  readonly key: string | undefined;
  /** The name of the operation, such as `lend a tool`, unique in the service. Each operation has its own keys. */
  readonly operation: string;
  /** All that the result depends on, such as the body. */
  readonly content: object;
}

/** Each principal has its own keys. */
export type RepeatableRequest = Repeatable &
  (
    | { readonly actor: Actor }
    | {
        /** @deprecated named `actor` */
        readonly origin: Actor;
      }
  );

/** What {@link Idempotency.performOnce} resolves to. */
export interface Performed<Result> {
  readonly result: Result;
  /** Whether an earlier request has done the work. */
  readonly isReplay: boolean;
}

export interface NeededLocks {
  readonly keys: readonly RowKey[];
  /** Returns the keys that another transaction holds. */
  readonly findLocked: () => Promise<readonly RowKey[]>;
}

interface Claim {
  readonly is_new: boolean;
  readonly fingerprint: string;
  /** `null`: evicted. */
  readonly answer: string | null;
}

const NO_LOCKS: NeededLocks = { keys: [], findLocked: () => Promise.resolve([]) };

/**
 * Performs repeated requests once (draft-ietf-httpapi-idempotency-key-header). The key is stored in the transaction that does the
 * work, so there is never one without the other.
 */
@Injectable()
export class Idempotency implements OnModuleInit, OnModuleDestroy {
  private readonly closing = new AbortController();
  private readonly errors = idempotencyErrors();
  private readonly statements: Statements;

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly rowSlots: RowSlots,
    private readonly bulkheads: Bulkheads,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.statements = new Statements(dataSource);
  }

  onModuleInit(): void {
    // Documents are written without a database.
    if (!this.dataSource.isInitialized) return;
    const { statements, logger } = this;
    const { signal } = this.closing;
    const common = { table: 'idempotency_keys', logger };
    void prune({ ...common, rows: 'idempotency keys', statement: OLDEST, statements }, signal);
    const kept = new KeptResponses(statements);
    void pruneInSteps({ ...common, rows: 'responses', step: () => kept.trim() }, signal);
  }

  onModuleDestroy(): void {
    this.closing.abort();
  }

  /**
   * Does the work in a transaction of its own, or returns its result of an earlier request. A repeated request waits for the
   * first one. Errors are not kept.
   *
   * If responses have filled their space, the oldest are evicted early. Their requests are not performed again either.
   *
   * @param dto the class from which a kept result is restored: each property must be validated
   * @param work like the work of {@link Transactions.run}
   * @throws ServiceException `idempotency-key-reused` if the content differs, `response-not-kept`, or any error of the database
   *
   * @example
   * const request = { key, operation: 'begin a loan', actor, content: loan };
   * return this.idempotency.once(request, StoredLoanDto, (manager) => this.loans.create(loan, { manager, actor }));
   */
  async once<Result extends object>(
    request: RepeatableRequest,
    dto: Type<Result>,
    work: (manager: EntityManager) => Promise<Result>,
    locks?: NeededLocks,
  ): Promise<Result> {
    return (await this.performOnce(request, dto, work, locks)).result;
  }

  /**
   * Like {@link once}, whose published type has no place for it, and tells whether an earlier request has done the work.
   *
   * @example const { result, isReplay } = await this.idempotency.performOnce(request, StoredLoanDto, work);
   */
  async performOnce<Result extends object>(
    request: RepeatableRequest,
    dto: Type<Result>,
    work: (manager: EntityManager) => Promise<Result>,
    locks?: NeededLocks,
  ): Promise<Performed<Result>> {
    requireDto(dto);
    const { keys: needed, findLocked } = locks ?? NO_LOCKS;
    // A service's own work can lock any row. Meanwhile, creates and changes of resources go on.
    const isOwn = locks === undefined;
    const free = isOwn ? this.bulkheads.transactions : this.bulkheads.updates;
    const inside = async (manager: EntityManager): Promise<Performed<Result>> => ({
      result: await (isOwn ? insideTransaction(() => work(manager)) : work(manager)),
      isReplay: false,
    });
    const { key, operation } = request;
    const own = key === undefined ? [] : [rowKey(KEYS, `${operation} ${ownerOf(request)} ${key}`)];
    const keys = [...own, ...needed];
    const perform = (slots: Semaphore) =>
      this.transactions.runIn(
        slots,
        async (manager) => {
          this.rowSlots.requireFree(keys, slots);
          return key === undefined
            ? inside(manager)
            : this.claimed(key, request, dto, inside, manager);
        },
        this.rowSlots.lockWaitIn(slots),
      );
    const findHeld = async () => {
      const found = await findLocked();
      return found.length > 0 ? found : own;
    };
    return this.rowSlots.run(keys, perform, findHeld, free);
  }

  private async claimed<Result extends object>(
    key: string,
    request: RepeatableRequest,
    dto: Type<Result>,
    work: (manager: EntityManager) => Promise<Performed<Result>>,
    manager: EntityManager,
  ): Promise<Performed<Result>> {
    const id = [request.operation, ownerOf(request), key];
    const fingerprint = hash('sha256', stringifyExactJson(request.content), 'base64url');
    const statements = this.statements.in(manager);
    // Waits for a concurrent transaction with an equal key. If the key exists, the update without a change makes the commit wait
    // for standbys, like the first one (docs/decisions/replays-and-conflicts.md). Only an updated row has an xmax.
    const claim = await statements.run<Claim>({
      name: 'claim-idempotency-key',
      text: `INSERT INTO idempotency_keys (operation, principal, key, fingerprint) VALUES ($1, $2, $3, $4)
        ON CONFLICT (operation, principal, key) DO UPDATE SET operation = idempotency_keys.operation
        RETURNING xmax = 0 AS is_new, fingerprint, answer`,
      values: [...id, fingerprint],
    });
    const [{ is_new: isNew, fingerprint: kept, answer }] = claim.rows as [Claim];
    if (!isNew) {
      if (kept !== fingerprint) throw new ServiceException(this.errors.idempotencyKeyReused);
      if (answer === null) throw new ServiceException(this.errors.responseNotKept);
      const stored = parseAllDigits(answer, 'body', Infinity) as object;
      return { result: restoreDto(dto, stored), isReplay: true };
    }
    const performed = await work(manager);
    await statements.run({
      name: 'keep-answer',
      text: `UPDATE idempotency_keys SET answer = $4 WHERE (operation, principal, key) = ($1, $2, $3)`,
      values: [...id, stringifyExactJson(performed.result)],
    });
    return performed;
  }
}

/** The id of a static token changes with a rotation, its owner does not. */
function ownerOf(request: RepeatableRequest): string {
  const { kind, id } = requireActor(actorOf(request)).principal;
  return kind === 'static-token' ? kind : `${kind}:${id}`;
}
