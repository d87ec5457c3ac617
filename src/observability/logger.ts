import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';
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

/** What Nest itself has to say, in the service's log. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: unknown): void {
    this.logger.debug({ context }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.logger.warn({ context }, String(message));
  }

  error(message: unknown, stack?: unknown, context?: unknown): void {
    this.logger.error({ context, stack }, String(message));
  }
}
