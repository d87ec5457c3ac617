import { randomUUID } from 'node:crypto';
import type { RecordedChange } from '@resource-service/changes';
import { stringifyExactJson } from '@resource-service/framework/exact-json';

/** What is sent, as JSON. */
export interface WebhookMessage {
  /** `webhook-id`: of all attempts. */
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

export function messageOf(
  resource: string,
  { kind, id, content = { id }, time, position }: RecordedChange,
): WebhookMessage {
  return message(`${resource}_${position}`, `${resource}.${kind}`, time, content);
}

export function testMessage(now: Date): WebhookMessage {
  return message(`test_${randomUUID()}`, 'webhook.test', now, {});
}

function message(id: string, type: string, timestamp: Date, data: object): WebhookMessage {
  return { id, type, body: stringifyExactJson({ type, timestamp, data }) };
}
