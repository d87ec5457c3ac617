import { levels } from 'pino';
import type { DestinationStream } from 'pino';

/** Control characters, line separators and invisible characters. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The fields of a log line that are used here. */
interface LogLine {
  readonly time: number;
  readonly level: number;
  readonly msg?: string;
  readonly err?: ErrorFields;
  readonly stack?: string;
  readonly management?: string;
  readonly address?: string;
  readonly docs?: string;
  readonly method?: string;
  readonly route?: string;
  readonly status?: number;
  readonly error?: number;
  readonly requestId?: string;
  readonly durationMs?: number;
  readonly principalKind?: string;
  readonly principalId?: string;
  readonly refusal?: string;
}

/** An error, as the logger serializes it. */
interface ErrorFields {
  readonly type: string;
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

/** Messages that are shown as a sentence with selected fields. */
const SENTENCES = new Map<string | undefined, (line: LogLine) => string>([
  ['starting', ({ management }) => `starting, management on ${urlOf(management)}`],
  [
    'listening',
    ({ address, docs }) => `listening on ${urlOf(address)}${docs ? `, docs on ${docs}` : ''}`,
  ],
  ['request', (line) => requestOf(line)],
  ['request abandoned by the client', (line) => requestOf(line, 'abandoned')],
]);

/** Fields that are not shown, or not in logfmt. */
const NO_LOGFMT = new Set(['time', 'level', 'pid', 'hostname', 'msg', 'err', 'stack']);

/** Text for people instead of JSON: local time, level (except `info`), message, fields. */
export function textLines(destination: DestinationStream): DestinationStream {
  return { write: (json) => destination.write(toText(JSON.parse(json) as LogLine)) };
}

function toText(line: LogLine): string {
  const { time, level, msg, err, stack } = line;
  const label = level === levels.values['info'] ? [] : [levels.labels[level]?.toUpperCase()];
  const sentence = SENTENCES.get(msg)?.(line) ?? withFields(msg, { ...line });
  const text = [new Date(time).toTimeString().slice(0, 8), ...label, sentence].join(' ');
  return [text, ...stackOf(err), ...indented(stack)].map((part) => `${escaped(part)}\n`).join('');
}

/** Only the line of a failure says which request of whom it was: the caller may have sent the id with a question. */
function requestOf(line: LogLine, outcome?: string): string {
  const { method, route = '-', status, error, durationMs = 0 } = line;
  const parts = [method, route, outcome, status, error, `${durationMs.toFixed(1)} ms`];
  const text = parts.filter((part) => part !== undefined).join(' ');
  const { requestId, principalKind, principalId, refusal } = line;
  return error === undefined
    ? text
    : withFields(text, { requestId, principalKind, principalId, refusal });
}

/** The message and its fields in logfmt. */
function withFields(msg: string | undefined, line: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(line).filter(
    ([name, value]) => value !== undefined && !NO_LOGFMT.has(name),
  );
  const pairs = fields.map(([name, value]) => {
    const isWord = typeof value === 'string' && !/[\s"=]/.test(value);
    return `${name}=${isWord ? value : JSON.stringify(value)}`;
  });
  return [msg, ...pairs].join(' ');
}

function stackOf(error: ErrorFields | undefined, prefix = ''): string[] {
  if (error === undefined) return [];
  const { type, stack = type, cause } = error;
  return [...indented(prefix + stack), ...stackOf(cause, 'caused by ')];
}

function indented(text: string | undefined): string[] {
  return text === undefined ? [] : text.split('\n').map((part) => `    ${part}`);
}

function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);
}

/** @param address host and port, as in the log */
function urlOf(address = ''): string {
  return `http://${address}`;
}
