import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';
import type { Config } from '../config/config.js';
import { textLines } from './text-lines.js';

export const LOGGER = Symbol('LOGGER');

/** @param format default: text if standard output is a terminal, otherwise JSON */
export function createLogger(
  level: Config['logLevel'],
  destination?: DestinationStream,
  format: Config['logFormat'] = !destination && process.stdout.isTTY ? 'text' : 'json',
): Logger {
  return pino(
    { level, serializers: { err: (error: unknown) => fieldsOf(error) } },
    format === 'text' ? textLines(destination ?? process.stdout) : (destination ?? process.stdout),
  );
}

/** Bytes of lines that wait for a slow reader; further lines are dropped. */
export const MAX_BUFFERED = 16_000_000;

/**
 * Buffered, asynchronous standard output: a system call costs more than a line, and a slow reader must not delay requests. The
 * buffer is flushed when the process ends, unless it is killed.
 */
export function bufferedStdout(): DestinationStream {
  const stdout = pino.destination({
    dest: 1,
    sync: false,
    // Flushes after this many bytes, or after this many milliseconds.
    minLength: 4_096,
    periodicFlush: 50,
    maxLength: MAX_BUFFERED,
  });
  // On a full disk, later lines may succeed; but at the exit, a failing write would be repeated for ever.
  stdout.on('error', () => {
    Object.assign(stdout, { flushSync() {} });
  });
  return stdout;
}

/** Limited, because an error can be the cause of its own cause. */
const MAX_CAUSES = 5;

/**
 * Serializes an error and its causes without further properties, because the error of a query contains parameters. It never
 * throws, which would prevent the log line and the response.
 */
function fieldsOf(error: unknown, causes = 0): object {
  if (!(error instanceof Error)) return { type: typeof error };
  try {
    const { name, message, stack, cause } = error;
    return {
      type: name,
      message,
      stack,
      ...('code' in error ? { code: error.code } : {}),
      ...(cause === undefined || causes === MAX_CAUSES
        ? {}
        : { cause: fieldsOf(cause, causes + 1) }),
    };
  } catch {
    return { type: 'Error', message: 'an error whose properties cannot be read' };
  }
}

/** The contexts in which Nest logs each step of a start. */
const STARTUP_CONTEXTS = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'TypeOrmModule',
]);

/** Writes Nest's log to the service's log. The last value is the context of the caller. Plain objects become fields. */
export class NestLog implements LoggerService {
  readonly fatal = this.at('fatal');
  readonly error = this.at('error');
  readonly warn = this.at('warn');
  readonly debug = this.at('debug');
  readonly verbose = this.at('trace');

  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...others: unknown[]): void {
    this.write(STARTUP_CONTEXTS.has(String(others.at(-1))) ? 'debug' : 'info', message, others);
  }

  private at(level: Level) {
    return (message: unknown, ...others: unknown[]): void => this.write(level, message, others);
  }

  private write(level: Level, message: unknown, others: unknown[]): void {
    const context = typeof others.at(-1) === 'string' ? others.at(-1) : undefined;
    const values = context === undefined ? others : others.slice(0, -1);
    const stack = values.find((value) => typeof value === 'string' && /\n {4}at /.test(value));
    const err = [message, ...values].find((value) => value instanceof Error);
    const shown = [message, ...values.filter((value) => value !== stack && value !== err)];
    const text = shown
      .filter((value) => !isPlain(value))
      .map((value) => {
        if (value instanceof Error) return value.message;
        return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
      });
    // Pino omits undefined fields.
    const fields = Object.assign({ context, err, stack }, ...shown.filter(isPlain)) as object;
    this.logger[level](fields, text.join(' ') || undefined);
  }
}

function isPlain(value: unknown): value is object {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && [Object.prototype, null].includes(Object.getPrototypeOf(value) as null);
}
