/* The public interface, with `global-setup.ts`. Everything else may change in any release. */

export { LocalError } from './local-error.js';
export { runningDatabase, startLocalInstance } from './local-instance.js';
export type { LocalInstance } from './local-instance.js';
