import type { Logger } from 'pino';
import { localTokenMistakes } from './config.js';
import type { Config } from './config.js';
import { readFile } from './read-variable.js';
import { VARIABLES } from './variables.js';
import type { SecretName } from './variables.js';

/** A command, which has no HTTP server, needs only the files. */
type SecretContext =
  Pick<Config, 'secretFiles'> | Pick<Config, 'secretFiles' | 'identity' | 'http'>;

/** Milliseconds between two reads of a file. */
export const POLL_INTERVAL = 5_000;

/** A value that can change while the service runs. */
export interface Secret<Value> {
  readonly value: Value;
  refresh(): void;
}

export function constant<Value>(value: Value): Secret<Value> {
  return { value, refresh: () => {} };
}

/** @param value at the start */
export function secretOf<Value extends string | undefined>(
  name: SecretName,
  value: Value,
  context: SecretContext,
  log: Logger,
): Secret<Value> {
  const path = context.secretFiles[name];
  return path === undefined ? constant(value) : new SecretFile(name, path, value, context, log);
}

/**
 * A value in a file, which can be replaced. Kubernetes renames a symbolic link to the folder of a mounted Secret, so
 * the path is resolved each time; events of the file itself would not tell.
 */
class SecretFile<Value extends string | undefined> implements Secret<Value> {
  private reported = '';

  constructor(
    private readonly variable: SecretName,
    private readonly path: string,
    public value: Value,
    private readonly context: SecretContext,
    private readonly log: Logger,
  ) {}

  /** If the content is not valid, the last valid value stays. */
  refresh(): void {
    const { variable, path, context } = this;
    const { value, mistakes } = readFile(variable, VARIABLES[variable], path);
    // Without mistakes, the value has its type.
    const secret = value as Value;
    const unsafe =
      'http' in context
        ? localTokenMistakes(context.identity, variable, secret, context.http.publicBaseUrl)
        : [];
    const reason = [...mistakes, ...unsafe].join('; ');
    if (reason !== this.reported) this.report(reason);
    if (reason !== '' || secret === this.value) return;
    this.value = secret;
    this.log.info({ variable }, 'a secret has changed');
  }

  private report(reason: string): void {
    this.reported = reason;
    const { variable } = this;
    if (reason === '') this.log.info({ variable }, 'the file of a secret is valid again');
    else {
      const message = 'the file of a secret is not valid: the last valid value stays in use';
      this.log.warn({ variable, reason }, message);
    }
  }
}
