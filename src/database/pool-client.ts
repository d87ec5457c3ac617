import { Client } from 'pg';
import type { ClientConfig } from 'pg';

/**
 * A connection of the pool. The pool stops listening for errors when it lends a connection, TypeORM
 * starts a moment later: an error in between, such as the end that the server has put behind its
 * greeting, would end the process. It need not be handled here, because no statement gets through
 * from then on, and the pool drops the connection when it is given back.
 */
export class PoolClient extends Client {
  constructor(config?: ClientConfig) {
    super(config);
    this.on('error', () => {});
  }
}
