import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { Statements } from '@resource-service/framework';
import type { OUTCOMES } from '../webhook-delivery.entity.js';
import type { PauseReason } from '../webhook.entity.js';
import type { Failing } from './retries.js';
import type { Positions } from './webhook-feeds.js';

/** In milliseconds. A replica that dies hands over when its leases have ended. */
export const LEASE = { duration: 15_000, renewal: 5_000 } as const;

const UNTIL = `now() + interval '${LEASE.duration} milliseconds'`;

/** The number of deliveries that are kept for each webhook, besides the deliveries of its last turn. */
export const KEPT_DELIVERIES = 100;

/** Where to send messages, and how to sign them. */
export interface Target {
  readonly id: string;
  readonly url: string;
  /** Encrypted. */
  readonly secrets: readonly string[];
}

export interface ClaimedWebhook extends Target {
  readonly kinds: readonly string[];
  readonly resources: readonly string[];
  readonly positions: Positions;
  readonly failing: Pick<Failing, 'attempts' | 'since'> | null;
}

export interface Attempt {
  readonly message_id: string;
  readonly type: string;
  readonly time: Date;
  readonly outcome: (typeof OUTCOMES)[number];
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly response?: string | undefined;
}

/** What has become of a webhook in a turn. */
export interface Served {
  /** Of the resources of which something was sent or passed over, or which are new. */
  readonly positions: Positions;
  readonly attempts: readonly Attempt[];
  /** `undefined`: the last attempt has succeeded. */
  readonly failing?: Failing | undefined;
  readonly pausedReason?: PauseReason | undefined;
  readonly lastError?: string | undefined;
  /** The time of the first change that was not sent. */
  readonly waitingSince?: Date | undefined;
}

export interface Figures {
  readonly active: number;
  readonly paused: number;
  /** How far all active webhooks have come, by resource. What SQL has written may be no number, and is left out. */
  readonly positions: Positions;
}

const TARGET = `'id', id, 'url', url,
  'secrets', CASE WHEN previous_until > now() THEN jsonb_build_array(secret, previous_secret) ELSE jsonb_build_array(secret) END`;

/** Positions of the resources that a webhook wants: `parameter` has others, too. */
export const WANTED = (parameter: string): string => `coalesce((
    SELECT jsonb_object_agg(key, value) FROM jsonb_each(${parameter}::jsonb)
    WHERE resources = '{}' OR key = ANY (resources)
  ), '{}')`;

/** The empty holder: no replica serves the webhook, but none may take it before the lease of the last one has ended. */
export const NO_HOLDER = 'left(holder, 0)';

const HAS_POSITIONS = "jsonb_typeof(positions) = 'object'";

/** Attempts ($2, as JSON) of the webhook that `source` has. */
const INSERT = (source: string): string => `INSERT INTO webhook_deliveries
    (webhook_id, message_id, type, time, outcome, status, reason, response)
  SELECT ${source}.id, message_id, type, time, outcome, status, reason, response
  FROM ${source}, jsonb_to_recordset($2::jsonb)
    AS attempts (message_id text, type text, time timestamptz, outcome text, status integer, reason text, response text)`;

/** Removes all but the last deliveries of the webhook ($1) that `source` has. */
const PRUNE = (source: string): string => `DELETE FROM webhook_deliveries USING ${source}
  WHERE webhook_id = ${source}.id AND webhook_deliveries.id <= (
    SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id DESC OFFSET ${KEPT_DELIVERIES} LIMIT 1
  )`;

/** The statements of the delivery. Each lease is in the row of its webhook, so it needs no session, and works behind poolers. */
@Injectable()
export class WebhookRows {
  private readonly holder = `${hostname()} ${process.pid} ${randomUUID()}`;

  constructor(private readonly statements: Statements) {}

  /**
   * Takes webhooks that miss changes and are served by no replica, those first that were not served for the longest time. If
   * `positions` is no object, which only SQL writes, the webhook gets positions that are no numbers, and is paused because of them.
   *
   * @param latest the newest positions
   * @param isRetry whether the last attempt has failed
   * @param now as of `Date.now()`
   */
  async claim(
    latest: Positions,
    isRetry: boolean,
    now: number,
    limit: number,
  ): Promise<readonly ClaimedWebhook[]> {
    const rows = await this.statements.rows<[string]>({
      text: `WITH due AS (
          SELECT id AS due_id FROM webhooks
          WHERE paused_at IS NULL AND (holder IS NULL OR leased_until < now()) IS NOT FALSE
            AND (attempts > 0) = $3 AND (next_attempt_at <= $4::timestamptz) IS NOT FALSE
            AND EXISTS (
              SELECT FROM jsonb_each_text($2::jsonb) AS newest (resource, position)
              WHERE (resources = '{}' OR newest.resource = ANY (resources))
                AND positions ->> newest.resource IS DISTINCT FROM newest.position
            )
          ORDER BY leased_until NULLS FIRST LIMIT $5 FOR UPDATE SKIP LOCKED
        )
        UPDATE webhooks SET holder = $1, leased_until = ${UNTIL},
          positions = CASE WHEN ${HAS_POSITIONS} THEN positions
            ELSE (SELECT jsonb_object_agg(resource, ''::text) FROM jsonb_object_keys(${WANTED('$2')}) AS resource) END
        FROM due WHERE id = due_id
        RETURNING jsonb_build_object(${TARGET}, 'kinds', kinds, 'resources', resources, 'positions', positions,
          'failing', CASE WHEN failing_since IS NOT NULL
            THEN jsonb_build_object('attempts', attempts, 'since', round(extract(epoch FROM failing_since) * 1000)) END)::text`,
      values: [this.holder, JSON.stringify(latest), isRetry, new Date(now).toISOString(), limit],
    });
    return rows.map(([text]) => JSON.parse(text) as ClaimedWebhook);
  }

  /** Renews the leases of webhooks. @returns those whose lease this replica still has */
  async renew(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.statements.rows<[string]>({
      text: `UPDATE webhooks SET leased_until = ${UNTIL} WHERE holder = $1 AND id = ANY ($2::uuid[]) RETURNING id`,
      values: [this.holder, ids],
    });
    return new Set(rows.map(([id]) => id));
  }

  /** Stores what has become of a webhook and ends its lease, unless another replica has it. */
  async release(id: string, served: Served): Promise<void> {
    const { positions, attempts, failing, pausedReason, lastError, waitingSince } = served;
    const time = (since: number | undefined) =>
      since === undefined ? null : new Date(since).toISOString();
    // What is removed from the resources meanwhile stays so: its position is not added again.
    const text = `WITH served AS (
        UPDATE webhooks SET holder = NULL, leased_until = now(),
          positions = positions || ${WANTED('$4')},
          attempts = $5::integer, failing_since = $6::timestamptz, next_attempt_at = $7::timestamptz,
          last_error = CASE WHEN $5 > 0 THEN coalesce($8, last_error) ELSE $8 END,
          waiting_since = CASE WHEN $5 > 0 THEN coalesce($9::timestamptz, waiting_since) ELSE $9 END,
          paused_reason = $10::text, paused_at = CASE WHEN $10 IS NOT NULL THEN now() END
        WHERE id = $1 AND holder = $3 RETURNING id
      ), kept AS (${INSERT('served')}) ${PRUNE('served')}`;
    await this.statements.rows({
      text,
      values: [
        id,
        JSON.stringify(attempts),
        this.holder,
        JSON.stringify(positions),
        failing?.attempts ?? 0,
        time(failing?.since),
        time(failing?.nextAttemptAt),
        lastError ?? null,
        waitingSince?.toISOString() ?? null,
        pausedReason ?? null,
      ],
    });
  }

  async target(id: string): Promise<Target | undefined> {
    const [row] = await this.statements.rows<[string]>({
      text: `SELECT jsonb_build_object(${TARGET})::text FROM webhooks WHERE id = $1`,
      values: [id],
    });
    return row && (JSON.parse(row[0]) as Target);
  }

  /** Stores an attempt that somebody has asked for. @returns its id; `undefined` if the webhook is gone */
  async note(id: string, attempt: Attempt): Promise<bigint | undefined> {
    const [row] = await this.statements.rows<[string]>({
      text: `WITH noted AS (SELECT id FROM webhooks WHERE id = $1 FOR KEY SHARE), pruned AS (${PRUNE('noted')})
        ${INSERT('noted')} RETURNING id`,
      values: [id, JSON.stringify([attempt])],
    });
    return row && BigInt(row[0]);
  }

  /**
   * Lets all webhooks, also paused ones, begin now with resources that are new in the service.
   *
   * @param latest the newest positions
   */
  async begin(latest: Positions): Promise<void> {
    await this.statements.rows({
      text: `UPDATE webhooks SET positions = ${WANTED('$1')} || positions
        WHERE ${HAS_POSITIONS} AND NOT positions ?& ARRAY(SELECT jsonb_object_keys(${WANTED('$1')}))`,
      values: [JSON.stringify(latest)],
    });
  }

  async figures(): Promise<Figures> {
    const [[active, paused, positions] = [0, 0, '{}']] = await this.statements.rows<
      [number, number, string]
    >({
      text: `SELECT count(*) FILTER (WHERE paused_at IS NULL)::integer, count(paused_at)::integer, coalesce((
          SELECT jsonb_object_agg(resource, lowest) FROM (
            SELECT resource, min(position::bigint)::text AS lowest FROM webhooks,
              jsonb_each_text(CASE WHEN ${HAS_POSITIONS} THEN positions ELSE '{}' END) AS sent (resource, position)
            WHERE paused_at IS NULL AND position ~ '^[0-9]{1,18}$' GROUP BY resource
          ) AS behind
        ), '{}')::text
        FROM webhooks`,
    });
    return { active, paused, positions: JSON.parse(positions) as Positions };
  }
}
