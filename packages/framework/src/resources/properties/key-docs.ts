import { INT64_SCHEMA, int64ParameterRule, MAX_INT64, MIN_INT64, parseInt64 } from './int64.js';
import type { Key } from './key-type.js';
import { parseUuid, UUID_SCHEMA, uuidRule } from './uuid.js';

/** The interface of a type of keys to clients. */
export interface KeyDocs {
  readonly schema: typeof INT64_SCHEMA | typeof UUID_SCHEMA;
  /** Returns the message for any other value. */
  ruleOf(name: string): string;
  parse(text: string): Key | undefined;
  /** An example of a key without a row. */
  readonly missing: string;
  describe(noun: string): string;
  describeInFull(noun: string): string;
}

export const INT64_KEY: KeyDocs = {
  schema: INT64_SCHEMA,
  ruleOf: int64ParameterRule,
  parse: parseInt64,
  missing: '404',
  describe: (noun) => `Identification number of the ${noun}, in canonical decimal form.`,
  describeInFull: (noun) =>
    `Identification number of the ${noun}, between ${MIN_INT64} and ${MAX_INT64}, in canonical decimal form.`,
};

export const UUID_KEY: KeyDocs = {
  schema: UUID_SCHEMA,
  ruleOf: uuidRule,
  parse: parseUuid,
  missing: '01920000-0000-7000-8000-000000000404',
  describe: (noun) => `The id of the ${noun}, with hyphens, in any case.`,
  describeInFull: (noun) => `The id of the ${noun}, with hyphens, in any case.`,
};
