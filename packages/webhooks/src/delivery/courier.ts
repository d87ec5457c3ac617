import { Injectable } from '@nestjs/common';
import { InjectVariables, ServiceException } from '@resource-service/framework';
import type { Variables } from '@resource-service/framework';
import { AddressError } from '../outgoing/networks.js';
import { Secrets } from '../outgoing/secrets.js';
import { Sender } from '../outgoing/sender.js';
import type { Outcome } from '../outgoing/outcome.js';
import { senderOptions } from '../variables.js';
import type { WEBHOOK_VARIABLES } from '../variables.js';
import { WEBHOOK_ERRORS } from '../webhooks.errors.js';
import type { WebhookMessage } from './message.js';
import type { Target } from './webhook-rows.js';

@Injectable()
export class Courier {
  private readonly sender: Sender;
  private readonly keeper: Secrets | undefined;

  constructor(
    @InjectVariables()
    {
      WEBHOOK_ALLOWED_NETWORKS: options = senderOptions(),
      WEBHOOK_SECRET_KEY: key,
    }: Variables<typeof WEBHOOK_VARIABLES>,
  ) {
    this.sender = new Sender(options);
    this.keeper = key && new Secrets(key);
  }

  get isConfigured(): boolean {
    return this.keeper !== undefined;
  }

  /** @throws ServiceException `webhooks-not-configured` */
  get secrets(): Secrets {
    if (this.keeper === undefined) throw new ServiceException(WEBHOOK_ERRORS.webhooksNotConfigured);
    return this.keeper;
  }

  /** @throws ServiceException `webhook-address-not-allowed` */
  checkUrl(url: string): void {
    try {
      this.sender.checkUrl(url);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      throw new ServiceException(WEBHOOK_ERRORS.webhookAddressNotAllowed, error.message);
    }
  }

  /**
   * Sends a message once. Rejects when `signal` aborts.
   *
   * @param beforeWrite is called each time that the message is about to be written, and may abort `signal`
   * @throws ServiceException `webhooks-not-configured`
   */
  async send(
    { id, url, secrets: sealed }: Target,
    message: WebhookMessage,
    signal: AbortSignal,
    beforeWrite?: () => void,
  ): Promise<Outcome> {
    const { secrets } = this;
    const [current = '', ...previous] = sealed;
    const opened: string[] = [];
    try {
      opened.push(secrets.open(current, id));
    } catch (error) {
      // It is tried again: the operator may have set another key by mistake.
      return { kind: 'failed', reason: (error as Error).message };
    }
    for (const each of previous) {
      try {
        opened.push(secrets.open(each, id));
      } catch {
        // A new secret replaces one that only a former key opens.
      }
    }
    const dated = { ...message, timestamp: new Date() };
    return this.sender.send(url, dated, opened, signal, beforeWrite);
  }

  close(): Promise<void> {
    return this.sender.close();
  }
}
