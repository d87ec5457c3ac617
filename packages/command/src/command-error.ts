import { constants } from 'node:os';
import { inspect } from 'node:util';
import { ServiceError } from '@resource-service/client/runtime';

/** Exit codes, besides 128 and the number of a signal. `--help` explains them. */
export const EXIT = { done: 0, refused: 1, usage: 2, incomplete: 3 } as const;

/** The command cannot do what it was asked to do. The message is for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message);
  }
}

/** The address does not lead to the service. A repeat would fail as well. */
export class ContactError extends CommandError {
  constructor(message: string) {
    super(EXIT.incomplete, message);
  }
}

export class InputError extends CommandError {}

/** Why a record or a request is refused: number and message of an Error, or words of the command. */
export interface Reason {
  readonly error?: number;
  readonly message: string;
}

export function reasonOf({
  code: error,
  reason: message,
  status,
  statusText,
}: ServiceError): Reason {
  // A proxy has no number.
  return error === undefined
    ? { message: `the response was ${status} ${statusText}` }
    : { error, message };
}

export function textOf({ error, message }: Reason): string {
  return error === undefined ? message : `${error} ${message}`;
}

/** A request failed, and the next attempt may succeed. */
export class TemporaryError extends Error {
  /** @param retryAfter what the service asks to wait, in milliseconds */
  constructor(
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

export class Unreachable extends TemporaryError {
  constructor(
    message: string,
    readonly isFirstContact: boolean,
  ) {
    super(message);
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(EXIT.usage, message);
}

/** @param signal whose reason is the name of a signal of the process */
export function exitCodeOf(error: unknown, signal: AbortSignal): number {
  if (signal.aborted) return 128 + constants.signals[signal.reason as NodeJS.Signals];
  if (isBrokenPipe(error)) return 128 + constants.signals.SIGPIPE;
  // The parameters of a request are arguments of the command.
  if (error instanceof ServiceError && error.status === 400) return EXIT.usage;
  return error instanceof CommandError ? error.exitCode : EXIT.incomplete;
}

/** What to print. Only a bug has a stack. A reader such as `head`, which has seen enough, is told nothing. */
export function explain(error: unknown, signal: AbortSignal, command: string): string {
  if (signal.aborted) return `${command}: interrupted`;
  if (isBrokenPipe(error)) return '';
  if (error instanceof ServiceError) return `${command}: ${textOf(reasonOf(error))}`;
  const isExpected = error instanceof CommandError || isSystemError(error);
  return `${command}: ${isExpected ? error.message : inspect(error)}`;
}

export function isBrokenPipe(error: unknown): boolean {
  return isSystemError(error) && error.code === 'EPIPE';
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}
