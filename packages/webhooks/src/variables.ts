import { randomBytes } from 'node:crypto';
import { variable } from '@resource-service/framework';
import { Sender } from './outgoing/sender.js';
import type { SenderOptions } from './outgoing/sender.js';

/** Of AES-256. */
const KEY_BYTES = 32;

const LOOPBACK = 'loopback';

export const WEBHOOK_VARIABLES = {
  WEBHOOK_SECRET_KEY: variable.of(
    {
      parse: (text) => {
        const key = Buffer.from(text, 'base64');
        return key.length === KEY_BYTES && key.toString('base64') === text ? key : undefined;
      },
      constraint: '32 bytes in base64, such as the output of "openssl rand -base64 32"',
    },
    {
      description:
        'Encrypts the secrets of webhooks: 32 bytes in base64, such as from openssl rand -base64 32. Without it, no webhook can be created. Default: npm start makes one.',
      isOptional: true,
      local: () => randomBytes(KEY_BYTES).toString('base64'),
    },
  ),
  WEBHOOK_ALLOWED_NETWORKS: variable.of(
    {
      parse: senderOptions,
      constraint: 'networks such as 10.0.0.0/8 or fd00::/8, or loopback, separated by commas',
    },
    {
      description:
        'Networks that webhooks may reach although they are not public, separated by commas. With loopback, also http on this machine, as with npm start by default.',
      isOptional: true,
      local: LOOPBACK,
    },
  ),
};

/** Until the header of a response, in milliseconds. */
const TIMEOUT = 15_000;

/** @throws Error if there is no such network */
export function senderOptions(networks = ''): SenderOptions {
  const entries = networks.split(',').map((entry) => entry.trim());
  const options = {
    allowedNetworks: entries.filter((entry) => entry !== LOOPBACK).join(','),
    allowsHttpOnLoopback: entries.includes(LOOPBACK),
    timeout: TIMEOUT,
  };
  new Sender(options);
  return options;
}
