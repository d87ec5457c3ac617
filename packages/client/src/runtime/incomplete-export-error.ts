/**
 * The answer to an export has an end, but not the empty line with which the service ends it. To a proxy that speaks
 * HTTP/1.0 to the service, a connection that a killed process leaves looks like the end of an answer.
 */
export class IncompleteExportError<Id = bigint> extends Error {
  override readonly name = 'IncompleteExportError';

  /** @param last the id of the last record that arrived, or else `after` of the query. The next export can go on after it */
  constructor(readonly last: Id | undefined) {
    super('the export ended before the empty line that ends it');
  }
}
