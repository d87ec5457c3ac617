import { Injectable } from '@nestjs/common';
import { ERRORS, ServiceException, Statements } from '@resource-service/framework';
import type { Actor, Page } from '@resource-service/framework';
import { Courier } from './delivery/courier.js';
import { Dispatcher } from './delivery/dispatcher.js';
import { WebhookFeeds } from './delivery/webhook-feeds.js';
import type { Positions } from './delivery/webhook-feeds.js';
import { NO_HOLDER, WANTED } from './delivery/webhook-rows.js';
import type {
  ListWebhooksDto,
  NewWebhookDto,
  WebhookDto,
  WebhookPatchDto,
  WebhookSecretDto,
  WebhookStartDto,
} from './dto/webhook.dto.js';
import { KINDS } from './webhook.entity.js';
import { WEBHOOK_ERRORS } from './webhooks.errors.js';
import { WebhooksRepository } from './webhooks.repository.js';

/** Beside so many, creates are measured (docs/webhooks.md). Concurrent requests can create a few more. */
export const MAX_WEBHOOKS = 1_000;

/** A new value for a column of a webhook that gets another url ($2). */
const unlessMoved = (column: string, value: string): string =>
  `${column} = CASE WHEN url = coalesce($2, url) THEN ${column} ELSE ${value} END`;

/** What users do with webhooks. None of it runs when something else is changed. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly statements: Statements,
    private readonly feeds: WebhookFeeds,
    private readonly courier: Courier,
    private readonly dispatcher: Dispatcher,
  ) {}

  /**
   * Creates a webhook, which gets the changes that follow.
   *
   * @throws ServiceException `webhook-address-not-allowed`, `body-not-valid`, `too-many-webhooks`, `webhooks-not-configured`
   */
  async create(webhook: NewWebhookDto): Promise<WebhookSecretDto> {
    const { url, kinds, resources } = webhook;
    this.check(webhook);
    const { secrets } = this.courier;
    const secret = secrets.generate();
    const all = Object.entries(await this.feeds.latest());
    const positions = Object.fromEntries(
      all.filter(([name]) => resources.length === 0 || resources.includes(name)),
    );
    // The secret is encrypted for this id only.
    const [[id] = ['']] = await this.statements.rows<[string]>({ text: 'SELECT uuid_v7()' });
    const created = await this.statements.rows({
      text: `INSERT INTO webhooks (id, url, kinds, resources, positions, secret)
        SELECT $1::uuid, $2, $3::text[], $4::text[], $5::jsonb, $6
        WHERE (SELECT count(*) FROM webhooks) < ${MAX_WEBHOOKS} RETURNING id`,
      values: [id, url, kinds, resources, JSON.stringify(positions), secrets.seal(secret, id)],
    });
    if (created.length === 0) throw new ServiceException(WEBHOOK_ERRORS.tooManyWebhooks);
    this.dispatcher.wake();
    return { id, secret };
  }

  list(query: ListWebhooksDto): Promise<Page<ListWebhooksDto>> {
    return this.webhooks.list(query);
  }

  /** @throws ServiceException `webhook-not-found` */
  find(id: string): Promise<WebhookDto> {
    return this.webhooks.find(id);
  }

  /**
   * A new address is tried at once, for three days of its own. Of a new resource, the webhook gets the changes that follow.
   *
   * @throws ServiceException `webhook-not-found`, `webhook-address-not-allowed`, `body-not-valid`
   */
  async patch(id: string, patch: WebhookPatchDto): Promise<WebhookDto> {
    if (patch.id !== undefined && patch.id !== id) {
      throw new ServiceException(ERRORS.bodyNotValid, `id must be the id in the path, ${id}`);
    }
    this.check(patch);
    const { url = null, kinds = null, resources = null } = patch;
    const latest = await this.feeds.latest();
    // What is being sent to the former address does not count. The webhook keeps its place in a resource that only replicas of a newer
    // release have.
    await this.statements.rows({
      text: `UPDATE webhooks SET url = coalesce($2, url), kinds = coalesce($3, kinds), resources = coalesce($4, resources),
          positions = (
            SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each($5::jsonb || positions)
            WHERE coalesce($4, resources) = '{}' OR key = ANY (coalesce($4, resources))
          ),
          ${unlessMoved('holder', NO_HOLDER)}, ${unlessMoved('next_attempt_at', 'NULL')},
          ${unlessMoved('failing_since', 'NULL')}, ${unlessMoved('attempts', '0')}
        WHERE id = $1`,
      values: [id, url, kinds, resources, JSON.stringify(latest)],
    });
    return this.webhooks.find(id);
  }

  /** @throws ServiceException `webhook-not-found` */
  remove(id: string, actor: Actor): Promise<void> {
    return this.webhooks.remove(id, { actor });
  }

  /**
   * Goes on with a webhook that is paused or waits after an error.
   *
   * @throws ServiceException `webhook-not-found`
   */
  async resume(id: string, { from }: WebhookStartDto): Promise<WebhookDto> {
    const positions = await this.positionsFrom(from);
    await this.statements.rows({
      text: `UPDATE webhooks SET positions = positions || ${WANTED('$2')}, holder = ${NO_HOLDER},
          paused_reason = NULL, paused_at = NULL, waiting_since = NULL, attempts = 0, failing_since = NULL, next_attempt_at = NULL, last_error = NULL
        WHERE id = $1`,
      values: [id, JSON.stringify(positions)],
    });
    this.dispatcher.wake();
    return this.webhooks.find(id);
  }

  /**
   * Makes a new secret. For a day, messages have a signature with the former one, too.
   *
   * @throws ServiceException `webhook-not-found`, `webhooks-not-configured`
   */
  async rotateSecret(id: string): Promise<WebhookSecretDto> {
    const { secrets } = this.courier;
    const secret = secrets.generate();
    await this.statements.rows({
      text: `UPDATE webhooks SET secret = $2, previous_secret = secret, previous_until = now() + interval '1 day'
        WHERE id = $1`,
      values: [id, secrets.seal(secret, id)],
    });
    await this.webhooks.find(id);
    return { id, secret };
  }

  /** @throws ServiceException */
  private check({ url, kinds = [], resources = [] }: WebhookPatchDto): void {
    if (url !== undefined) this.courier.checkUrl(url);
    requireKnown('kinds', kinds, KINDS);
    requireKnown('resources', resources, this.feeds.names);
  }

  private async positionsFrom(from: WebhookStartDto['from']): Promise<Positions> {
    if (from === 'stopped') return {};
    return from === 'newest' ? this.feeds.latest() : this.feeds.oldest();
  }
}

function requireKnown(name: string, given: readonly string[], known: readonly string[]): void {
  if (given.every((each) => known.includes(each))) return;
  throw new ServiceException(
    ERRORS.bodyNotValid,
    `${name} must be an array of ${known.join(', ')}`,
  );
}
