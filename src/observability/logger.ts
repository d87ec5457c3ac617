import { inspect } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import type { DestinationStream, Level, Logger } from 'pino';
import type { Config } from '../config/config.js';
import { textLines } from './text-lines.js';

/** Injection token of the pino logger. */
export const LOGGER = Symbol('LOGGER');

/** A log in JSON or in text: without a choice, in text where standard output is a terminal. */
export function createLogger(
  level: Config['logLevel'],
  destination?: DestinationStream,
  format: Config['logFormat'] = !destination && process.stdout.isTTY ? 'text' : 'json',
): Logger {
  return pino(
    { level, serializers: { err: describeError } },
    format === 'text' ? textLines(destination ?? process.stdout) : destination,
  );
}

/**
 * Standard output for a service under load. Lines leave together and in the background: a system call for
 * each one would cost more than making it, and whoever reads them slowly must not hold requests up. What
 * cannot leave any more is dropped. What has not left is written when the process ends, unless it is killed.
 */
export function linesInBackground(): DestinationStream {
  return pino.destination({
    dest: 1,
    sync: false,
    /** Bytes that are waited for, but not for more than these milliseconds. */
    minLength: 4_096,
    periodicFlush: 50,
    /** Bytes that may wait. */
    maxLength: 16_000_000,
  });
}

/** An error and its causes, without the members that libraries add: a failed query carries its parameters. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack } = error;
  return {
    type: name,
    message,
    stack,
    ...('code' in error ? { code: error.code } : {}),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** The contexts under which Nest and its modules tell of each step of a start. */
const OF_NEST = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'TypeOrmModule',
]);

/** Nest's `Logger`, in the service's log. Its callers give further values, and their context as the last of them. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...others: unknown[]): void {
    this.write(OF_NEST.has(String(others.at(-1))) ? 'debug' : 'info', message, others);
  }

  fatal(message: unknown, ...others: unknown[]): void {
    this.write('fatal', message, others);
  }

  error(message: unknown, ...others: unknown[]): void {
    this.write('error', message, others);
  }

  warn(message: unknown, ...others: unknown[]): void {
    this.write('warn', message, others);
  }

  debug(message: unknown, ...others: unknown[]): void {
    this.write('debug', message, others);
  }

  verbose(message: unknown, ...others: unknown[]): void {
    this.write('trace', message, others);
  }

  private write(level: Level, message: unknown, others: unknown[]): void {
    const context = typeof others.at(-1) === 'string' ? others.at(-1) : undefined;
    const values = [message, ...(context === undefined ? others : others.slice(0, -1))];
    const isStack = (value: unknown) => typeof value === 'string' && /\n {4}at /.test(value);
    const stack = values.find((value, index) => index > 0 && isStack(value));
    const err = values.find((value) => value instanceof Error);
    const told = values.filter((value, index) => index === 0 || (value !== stack && value !== err));
    const text = told.map((value) => {
      if (value instanceof Error) return value.message;
      return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
    });
    this.logger[level](
      {
        ...(context !== undefined && { context }),
        ...(err && { err }),
        ...(stack !== undefined && { stack }),
      },
      text.join(' '),
    );
  }
}
