import type { Connection } from './connection/connection.js';
import type { Service } from './service.js';
import type { Terminal } from './terminal.js';

export interface Run {
  readonly service: Service;
  readonly args: readonly string[];
  readonly terminal: Terminal;
  /** Aborted with the name of a signal of the process. */
  readonly signal: AbortSignal;
  readonly connection: () => Promise<Connection>;
  readonly end: (exitCode: number) => void;
}
