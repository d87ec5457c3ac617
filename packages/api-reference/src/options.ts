import type { Client } from '../public/code-samples/code-samples.js';

/** What differs from one service to another, and is not in its document. */
export interface ReferenceOptions {
  /** The version of the service. The document has the version of the interface. */
  readonly version?: string;
  /** All errors, also the ones that no operation lists. */
  readonly errors?: readonly ApiError[];
  /** The address of other documents, which the page links to. */
  readonly homepage?: string | undefined;
  /** For the code samples in TypeScript. Without one, they use `fetch`. */
  readonly client?: Client | undefined;
  /** Where the reader gets a token, in Markdown. */
  readonly tokenHelp?: string | undefined;
  /** Where the reader can sign in, with the page of `signInPage`. `undefined`: nowhere. */
  readonly issuer?: string | undefined;
  /** What the names of the pages end with, for a host that has no other way to tell their type. */
  readonly extension?: '.html';
}

/** A kind of error, whose response has this number in the field `error`. */
export interface ApiError {
  readonly number: number;
  readonly message: string;
  /** What a client should do, in Markdown. */
  readonly remedy: string;
}
