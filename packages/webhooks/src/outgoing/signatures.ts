import { createHmac } from 'node:crypto';
import { SECRET_PREFIX } from './secrets.js';

/** A message of Standard Webhooks 1.0. */
export interface Message {
  /** Stays when the message is sent again. Has no full stop. */
  readonly id: string;
  readonly timestamp: Date;
  /** JSON */
  readonly body: string;
}

/** The header fields of a message, with a signature for each secret. */
export function signedHeaders({ id, timestamp, body }: Message, secrets: readonly string[]) {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
}
