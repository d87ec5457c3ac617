/* The public interface. What is not here, or in `global-setup.ts`, may change in any release. */

export { LocalError } from './local-error.js';
export { runningDatabase, startLocalInstance } from './local-instance.js';
export type { LocalInstance } from './local-instance.js';
