import type { Logger } from 'pino';
import { localTokenMistakes } from './config.js';
import { VARIABLES } from './variables.js';
import type { Config } from './config.js';
import { readVariable } from './read-variable.js';
import type { Reading, SecretName } from './read-variable.js';

/** A command, which has no HTTP server, needs only the files. */
type SecretContext =
  Pick<Config, 'secretFiles'> | Pick<Config, 'secretFiles' | 'identity' | 'http'>;

/** Milliseconds between two reads of a file. */
export const POLL_INTERVAL = 5_000;

/** A value that can change while the service runs. */
export interface Secret<Value> {
  readonly value: Value;
  /** Reads the source again. */
  refresh(): void;
}

export function constant<Value>(value: Value): Secret<Value> {
  return { value, refresh: () => {} };
}

/**
 * A value in a file, which can be replaced. Kubernetes renames a symbolic link to the folder of a mounted Secret, so
 * the path is resolved each time; events of the file itself would not tell.
 */
export class SecretFile<Value> implements Secret<Value> {
  /** The mistakes that were logged. */
  private reported = '';

  constructor(
    private readonly name: SecretName,
    public value: Value,
    private readonly read: () => Reading<Value>,
    private readonly log: Logger,
  ) {}

  /** If the content is not valid, the last valid value stays. */
  refresh(): void {
    const { value, mistakes } = this.read();
    const reason = mistakes.join('; ');
    if (reason !== this.reported) this.report(reason);
    if (reason !== '' || value === this.value) return;
    this.value = value;
    this.log.info({ variable: this.name }, 'a secret has changed');
  }

  private report(reason: string): void {
    this.reported = reason;
    const { name: variable } = this;
    if (reason === '') this.log.info({ variable }, 'the file of a secret is valid again');
    else {
      const message = 'the file of a secret is not valid: the last valid value stays in use';
      this.log.warn({ variable, reason }, message);
    }
  }
}

/** @param value at the start */
export function secretOf<Value extends string | undefined>(
  name: SecretName,
  value: Value,
  context: SecretContext,
  log: Logger,
): Secret<Value> {
  const file = context.secretFiles[name];
  if (file === undefined) return constant(value);
  const read = () => {
    const reading = readVariable(file, name, VARIABLES[name]);
    // Without mistakes, the value has its type.
    const secret = reading.value as Value;
    const mistakes = [...reading.mistakes, ...publicTokenMistakes(context, name, secret)];
    return { value: secret, mistakes };
  };
  return new SecretFile(name, value, read, log);
}

function publicTokenMistakes(
  context: SecretContext,
  name: SecretName,
  secret: string | undefined,
): string[] {
  if (!('http' in context)) return [];
  const { identity, http } = context;
  const publicUrl = http.publicBaseUrl === undefined ? undefined : new URL(http.publicBaseUrl);
  return localTokenMistakes(identity, name, secret, publicUrl);
}
