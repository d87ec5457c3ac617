import { Pool } from 'pg';
import type { PoolClient } from './pool-client.js';

export type OnConnection = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: Error) => void,
) => void;

/** node-postgres' pool with the types of its callback API, which TypeORM uses. */
export const CallbackPool = Pool as unknown as new (config: object) => Omit<
  Pool,
  'connect' | 'end'
> & {
  connect(callback: OnConnection): void;
  end(callback: () => void): void;
};
