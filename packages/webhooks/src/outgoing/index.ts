export { AddressError } from './networks.js';
export type { Outcome } from './outcome.js';
export { Secrets } from './secrets.js';
export { Sender } from './sender.js';
export type { SenderOptions } from './sender.js';
export type { Message } from './signatures.js';
