import { Client } from 'pg';
import type { ClientConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';

type OnResult<Row extends QueryResultRow> = (error: Error | null, result: QueryResult<Row>) => void;

/** node-postgres' client with the types of its callback API. */
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
