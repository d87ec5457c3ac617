import { isSafeNumber, LosslessNumber, parse, stringify } from 'lossless-json';
import { levels } from 'pino';
import type { DestinationStream } from 'pino';

/** Control characters, line separators and invisible characters. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

interface LogLine {
  readonly time: number;
  readonly level: number;
  readonly pid?: number;
  readonly hostname?: string;
  readonly msg?: string;
  readonly err?: ErrorFields;
  readonly stack?: string;
}

type Fields = Readonly<Partial<Record<string, string | number>>>;

interface ErrorFields {
  readonly type: string;
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

/**
 * Text for people instead of JSON: local time, level (except `info`), message, fields. Unlike pino-pretty, it escapes control
 * characters.
 */
export function textLines(destination: DestinationStream): DestinationStream {
  return { write: (json) => destination.write(toText(parsed(json) as LogLine & Fields)) };
}

/** With all digits, which the id of a row can need. */
function parsed(json: string): unknown {
  try {
    return parse(json, undefined, {
      parseNumber: (digits) => (isSafeNumber(digits) ? Number(digits) : new LosslessNumber(digits)),
      onDuplicateKey: ({ newValue }) => newValue,
    });
  } catch {
    // It recurses, and no line may end the work that writes it.
    return JSON.parse(json);
  }
}

function toText(line: LogLine & Fields): string {
  const { time, level, pid: _pid, hostname: _hostname, msg, err, stack, ...fields } = line;
  const label = level === levels.values['info'] ? [] : [levels.labels[level]?.toUpperCase()];
  const text = [new Date(time).toTimeString().slice(0, 8), ...label, sentence(msg, fields)];
  return [text.join(' '), ...stackOf(err), ...indented(stack)]
    .map((part) => `${escaped(part)}\n`)
    .join('');
}

function sentence(msg = '', fields: Fields): string {
  const { management, address, docs } = fields;
  switch (msg) {
    case 'starting':
      return `starting, management on http://${management}`;
    case 'listening':
      return `listening on http://${address}${docs ? `, docs on ${docs}` : ''}`;
    case 'request':
      return requestOf(fields);
    case 'request abandoned by the client':
      return requestOf({ ...fields, outcome: 'abandoned' });
    default:
      return withFields(msg, fields);
  }
}

/** Only the line of an error names the request and the principal, because the caller may ask about the id. */
function requestOf({ method, route = '-', outcome, status, error, ...others }: Fields): string {
  const { durationMs, requestId, principalKind, principalId, refusal } = others;
  const duration = `${Number(durationMs ?? 0).toFixed(1)} ms`;
  const parts = [method, route, outcome, status, error, duration];
  const text = parts.filter((part) => part !== undefined).join(' ');
  return error === undefined
    ? text
    : withFields(text, { requestId, principalKind, principalId, refusal });
}

/** The message and its fields in logfmt. */
function withFields(msg: string, fields: Fields): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const isWord = typeof value === 'string' && !/[\s"=]/.test(value);
      return `${name}=${isWord ? value : String(stringify(value))}`;
    });
  return [msg, ...pairs].join(' ');
}

function stackOf(error: ErrorFields | undefined, prefix = ''): string[] {
  if (error === undefined) return [];
  const { type, stack = type, cause } = error;
  return [...indented(prefix + stack), ...stackOf(cause, 'caused by ')];
}

function indented(text: unknown): string[] {
  // A service may have a field of this name.
  return typeof text !== 'string' ? [] : text.split('\n').map((part) => `    ${part}`);
}

function escaped(text: string): string {
  return text.replaceAll(UNPRINTABLE, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);
}
