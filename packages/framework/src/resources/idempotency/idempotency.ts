import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleDestroy, OnModuleInit, Type } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Logger } from 'pino';
import { DataSource } from 'typeorm';
import type { EntityManager } from 'typeorm';
import type { Semaphore } from '../../database/semaphore.js';
import { Statements } from '../../database/statements.js';
import { Transactions } from '../../database/transactions.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { restoreDto } from '../../http/body/dto.pipe.js';
import { parseExactJson, stringifyExactJson } from '../../json/exact-json.js';
import { LOGGER } from '../../observability/logger.js';
import { originParameters } from '../history/record-statements.js';
import type { Origin } from '../history/origin.js';
import { prune } from '../prune.js';
import { idempotencyErrors } from './idempotency-errors.js';

/** How long an answer is kept, as an interval of SQL, and how many are. */
const KEPT = { time: '24 hours', rows: 1_000_000 } as const;

/** Removes what is too old, and the oldest of too many. */
const OLDEST = {
  text: `WITH removed AS (
      DELETE FROM idempotency_keys WHERE ctid IN (
        SELECT ctid FROM idempotency_keys
        WHERE created_at < greatest(
          now() - interval '${KEPT.time}',
          (SELECT created_at FROM idempotency_keys ORDER BY created_at DESC OFFSET ${KEPT.rows} LIMIT 1)
        )
        ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
      ) RETURNING true
    ) SELECT count(*)::integer FROM removed`,
  values: [],
};

/** A request that can be sent again. */
export interface RepeatableRequest {
  /** The `Idempotency-Key`; `undefined`: the request cannot be sent again. */
  readonly key: string | undefined;
  /** What is requested, such as `create tools`: each operation has keys of its own. */
  readonly operation: string;
  /** Each principal has keys of its own. */
  readonly origin: Origin;
  /** All that the answer depends on, such as the body. */
  readonly content: object;
}

/** Where the work is done. */
export interface TransactionContext {
  /** Of a transaction that has begun. */
  readonly manager?: EntityManager | undefined;
  /** Of which a transaction of its own takes one. */
  readonly slots?: Semaphore | undefined;
}

/**
 * Performs requests once, however often they are sent (draft-ietf-httpapi-idempotency-key-header). The key is stored in the
 * transaction that does the work, so there is never one without the other.
 */
@Injectable()
export class Idempotency implements OnModuleInit, OnModuleDestroy {
  private readonly closing = new AbortController();
  private readonly errors = idempotencyErrors();

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly statements: Statements,
    private readonly transactions: Transactions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    // The application may be made only to look at it.
    if (!this.dataSource.isInitialized) return;
    const { statements, logger } = this;
    const [table, rows] = ['idempotency_keys', 'idempotency keys'];
    void prune({ table, rows, statement: OLDEST, statements, logger }, this.closing.signal);
  }

  onModuleDestroy(): void {
    this.closing.abort();
  }

  /**
   * Does the work in a transaction, or returns what it has returned when the request was sent before. A request waits while the
   * same request is being performed. Of a failure, nothing is kept.
   *
   * @param dto the class of the result, from whose members it is made again
   * @param work like the work of {@link Transactions.run}
   * @throws ServiceException `idempotency-key-reused` if the content is another one, or as after any failure of the database
   */
  once<Result extends object>(
    { key, operation, origin, content }: RepeatableRequest,
    dto: Type<Result>,
    work: (manager: EntityManager) => Promise<Result>,
    { manager: outer, slots }: TransactionContext = {},
  ): Promise<Result> {
    if (key === undefined) return this.transactions.run(work, outer, slots);
    const [principal] = originParameters(origin);
    const id = [operation, principal, key];
    const fingerprint = hash('sha256', stringifyExactJson(content), 'base64url');
    return this.transactions.run(
      async (manager) => {
        const statements = this.statements.in(manager);
        // Waits for a concurrent transaction with the same key.
        const claimed = await statements.rows({
          name: 'claim-idempotency-key',
          text: `INSERT INTO idempotency_keys (operation, principal, key, fingerprint) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING RETURNING true`,
          values: [...id, fingerprint],
        });
        if (claimed.length > 0) {
          const result = await work(manager);
          await statements.rows({
            name: 'keep-answer',
            text: `UPDATE idempotency_keys SET answer = $4 WHERE (operation, principal, key) = ($1, $2, $3)`,
            values: [...id, stringifyExactJson(result)],
          });
          return result;
        }
        const [kept] = await statements.rows<[fingerprint: string, answer: string]>({
          name: 'kept-answer',
          text: `SELECT fingerprint, answer FROM idempotency_keys WHERE (operation, principal, key) = ($1, $2, $3)`,
          values: id,
        });
        // It was removed meanwhile, because it was old.
        if (kept === undefined) throw new ServiceException(ERRORS.transactionConflict);
        if (kept[0] !== fingerprint) {
          throw new ServiceException(this.errors.idempotencyKeyReused);
        }
        return restoreDto(dto, parseExactJson(kept[1]) as object);
      },
      outer,
      slots,
    );
  }
}
