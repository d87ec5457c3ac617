import { Client, Pool, Query, Result } from 'pg';
import type { ClientConfig, QueryArrayConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg';

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
  query(query: CallbackQuery<never> | string | QueryConfig | QueryArrayConfig): unknown;
};

/**
 * A statement that node-postgres sends as it is. It would copy a config by way of the descriptors of its properties, which takes several
 * times as long as all else here.
 */
export class CallbackQuery<Row extends QueryResultRow> extends Query {
  constructor(statement: QueryConfig & Partial<QueryArrayConfig>, onResult: OnResult<Row>) {
    super(statement.text, statement.values, onResult as never);
    const { name, rowMode, types } = statement;
    const result = new Result(rowMode as string, types as never);
    Object.assign(this, { name, _rowMode: rowMode, _result: result, _results: result });
  }

  /** Nobody listens, and node-postgres emits each row. */
  override emit(): boolean {
    return false;
  }
}

/** A request that waits for a connection. */
interface Pending<Connection> {
  readonly callback: OnConnection<Connection>;
}

const PoolOfCallbacks = Pool as unknown as new <Connection>(config: object) => Omit<
  Pool,
  'connect' | 'end'
> & {
  connect(callback: OnConnection<Connection>): void;
  end(callback: () => void): void;
  newClient(pending: Pending<Connection>): void;
};

export class CallbackPool<Connection> extends PoolOfCallbacks<Connection> {
  /**
   * The constructor of a client throws, for example if a certificate in the URL cannot be read. pg-pool calls it in events, too, where
   * nothing would catch the error.
   */
  override newClient(pending: Pending<Connection>): void {
    try {
      super.newClient(pending);
    } catch (error) {
      pending.callback(error as Error, undefined, () => {});
    }
  }
}
