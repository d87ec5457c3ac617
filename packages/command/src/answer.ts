import { TemporaryFailure, textOf } from './command-error.js';
import type { Reason } from './command-error.js';
import type { InputRecord } from './records.js';

/** A record that is not stored. */
export interface Refusal {
  readonly record: InputRecord;
  readonly reason: Reason;
}

/** What the service did with the records of a request. */
export interface Answer {
  readonly created: number;
  readonly unchanged: number;
  readonly refusals: Refusal[];
}

/** A line of the service's answer: a refused line, the reason why it cannot go on, or the summary at the end. */
type AnswerLine =
  | { readonly line?: number; readonly error: number; readonly message: string }
  | { readonly created: number; readonly unchanged: number };

/** @throws TemporaryFailure if the answer does not end with a summary */
export function parseAnswer(text: string, records: readonly InputRecord[]): Answer {
  const refusals: Refusal[] = [];
  // What follows the last line end is part of a line.
  for (const json of text.split('\n').slice(0, -1)) {
    const answer = JSON.parse(json) as AnswerLine;
    if ('created' in answer) return { ...answer, refusals };
    const { line, error, message } = answer;
    if (line === undefined) throw new TemporaryFailure(textOf(answer));
    refusals.push({ record: records[line - 1]!, reason: { error, message } });
  }
  throw new TemporaryFailure('the answer ended before the summary');
}
