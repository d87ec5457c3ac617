// First: an old Node.js cannot load the rest.
import './config/node-version.js';

/* The public interface for the command of a service. Light, because each run loads it. */

export { readConfig } from './config/config.js';
export type { Config } from './config/config.js';
export { withEnvFile } from './config/env-file.js';
export { B64TOKEN, publicUrl } from './config/variable-types.js';
export { StartupError } from './errors/startup.error.js';
export { onEndSignals } from './app/run-program.js';
export { localAddress } from './app/welcome.js';
