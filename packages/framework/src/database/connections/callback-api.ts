import { Client, Pool } from 'pg';
import type { ClientConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/* Client and pool of node-postgres with the types of their callbacks, which TypeORM uses. */

type OnResult<Row extends QueryResultRow> = (error: Error | null, result: QueryResult<Row>) => void;

export type OnConnection<Connection> = (
  error: Error | undefined,
  client: Connection | undefined,
  release: (error?: Error) => void,
) => void;

export const CallbackClient = Client as unknown as new (config?: ClientConfig) => Omit<
  Client,
  'query'
> & {
  query<Row extends QueryResultRow>(
    statement: QueryConfig,
    values: undefined,
    onResult: OnResult<Row>,
  ): unknown;
};

export const CallbackPool = Pool as unknown as new <Connection>(config: object) => Omit<
  Pool,
  'connect' | 'end'
> & {
  connect(callback: OnConnection<Connection>): void;
  end(callback: () => void): void;
};
