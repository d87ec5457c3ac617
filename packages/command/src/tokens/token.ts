import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { StartupError } from '@resource-service/framework/command';
import type { Lifetime, TokenDetails } from '@resource-service/framework/tokens';
import { CommandError, EXIT, usageError } from '../command-error.js';
import { grace, lifetime, tokenName } from './durations.js';
import type { Service } from '../service.js';
import type { Terminal } from '../terminal.js';
import { tokenTable } from './token-table.js';

const ENVIRONMENT = `
Environment:
  DATABASE_URL  the database of the service. Without it, the one of the instance that runs in this folder (npm start)
In a container of the service, it is set already.`;

const SECRET_HELP = `
Standard output has only the token. It is shown once, because the database has only a hash of it.`;

function createHelp({ identity: { name }, scopes }: Service): string {
  const limited =
    scopes.length === 0 ? '' : `\n  ${name} token create --name dashboard --scope ${scopes[0]}`;
  return `${SECRET_HELP}

Examples:
  TOKEN=$(${name} token create --name "nightly import" --expires 90d)${limited}`;
}

interface JsonOption {
  readonly json?: boolean;
}

interface CreateOptions extends JsonOption {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly expires: Lifetime;
}

interface RotateOptions extends JsonOption {
  readonly grace: number;
  readonly endGrace?: boolean;
  readonly expires?: Lifetime;
}

/** The database part is loaded only by a command that needs it, because it takes longer than the rest. */
const tokens = () => import('@resource-service/framework/tokens');

export function addTokenCommands(
  program: Command,
  service: Service,
  terminal: Terminal,
  signal: AbortSignal,
  onDone: () => void,
): void {
  const { stdout, stderr, env } = terminal;
  const { identity } = service;
  const idForm = `the 12 characters after ${identity.tokenPrefix}_`;
  const say = (text: string) => void stderr.write(`${text}\n`);
  const write = (result: object | string) => {
    const text = typeof result === 'string' ? result : JSON.stringify(result, undefined, 2);
    stdout.write(`${text}\n`);
  };
  const useDatabase = async <T>(use: (dataSource: DataSource) => Promise<T>): Promise<T> => {
    const { findDatabase, withDatabase } = await tokens();
    const url = await failing(EXIT.usage, () => findDatabase(identity, env, signal));
    return failing(EXIT.incomplete, () => withDatabase(identity, url, signal, use, env));
  };
  const requireAcceptance = async () => {
    const database = await tokens();
    await failing(EXIT.usage, () => database.requireAcceptance(env));
  };
  // Somebody may have given the token instead of its id, so the message does not repeat the text.
  const requireId = async (id: string) => {
    const { isTokenId } = await tokens();
    if (!isTokenId(id)) throw usageError(`the id of a token is ${idForm}`);
  };
  const token = program
    .command('token')
    .description('Issue, list, revoke and rotate tokens, in the database of the service.')
    .addHelpText('afterAll', ENVIRONMENT)
    .hook('postAction', onDone);

  const create = token
    .command('create')
    .description('Issue a token.')
    .requiredOption('--name <name>', 'who or what uses the token', tokenName)
    .addOption(
      new Option('--expires <duration>', 'lifetime, such as 90d, 24h or 30m, or never')
        .argParser(lifetime)
        .default(90 * 86_400, '90d'),
    )
    .option('--json', 'with its details, as JSON')
    .addHelpText('after', createHelp(service))
    .action(async ({ name, scope = service.scopes, expires, json }: CreateOptions) => {
      const { createToken, MAX_TOKENS, TokenFormat } = await tokens();
      const format = new TokenFormat(identity);
      await requireAcceptance();
      const issued = await useDatabase((dataSource) =>
        createToken(dataSource, format, { name, scopes: scope, lifetime: expires }),
      );
      if (issued === undefined) {
        throw refused(`there are ${MAX_TOKENS} tokens that have not expired: revoke some first`);
      }
      const { details } = issued;
      write(json ? { token: issued.token, ...details } : issued.token);
      const permitted = details.scopes.join(' ') || 'no scope';
      say(`issued the token ${details.id} with ${permitted}, ${untilOf(details)}`);
      say('it is shown only now');
    });
  if (service.scopes.length > 0) {
    create.option(
      '--scope <scope>',
      'permit this only; repeatable (default: all scopes)',
      scopesIn(service.scopes),
    );
  }

  token
    .command('list')
    .description('List all tokens, without their secrets.')
    .option('--json', 'as JSON')
    .action(async ({ json }: JsonOption) => {
      const { listTokens } = await tokens();
      const found = await useDatabase(listTokens);
      if (json) write(found);
      else stdout.write(tokenTable(found));
    });

  token
    .command('revoke')
    .description('Revoke a token. Every replica rejects it within 10 seconds.')
    .argument('<id>', `id of the token: ${idForm}`)
    .option('--json', 'its details, as JSON')
    .action(async (id: string, { json }: JsonOption) => {
      await requireId(id);
      const { revokeToken } = await tokens();
      const details = await useDatabase((dataSource) => revokeToken(dataSource, id));
      if (details === undefined) throw unknown(id);
      if (json) write(details);
      say(`revoked the token ${id} (${details.name}) at ${written(details.revokedAt)}`);
    });

  token
    .command('rotate')
    .description('Give a token a new secret. The old one is accepted for some time.')
    .argument('<id>', `id of the token: ${idForm}`)
    .addOption(
      new Option('--grace <duration>', 'how long the old secret is accepted')
        .argParser(grace)
        .default(86_400, '24h'),
    )
    .option(
      '--end-grace',
      'reject the secret before at once, if an earlier rotation still accepts it',
    )
    .option('--expires <duration>', 'new lifetime, or never (default: as long as before)', lifetime)
    .option('--json', 'with its details, as JSON')
    .addHelpText('after', SECRET_HELP)
    .action(async (id: string, options: RotateOptions) => {
      const { grace: seconds, endGrace: endsGrace = false, expires, json } = options;
      await requireId(id);
      const { rotateToken, TokenFormat } = await tokens();
      const format = new TokenFormat(identity);
      await requireAcceptance();
      const rotated = await useDatabase((dataSource) =>
        rotateToken(dataSource, format, id, { grace: seconds, lifetime: expires, endsGrace }),
      );
      if (rotated === undefined) throw unknown(id);
      const { details } = rotated;
      if (!('token' in rotated)) throw refused(whyNotRotated(details));
      write(json ? { token: rotated.token, ...details } : rotated.token);
      say(`rotated the token ${id} (${details.name}), ${untilOf(details)}`);
      say(`the old secret is accepted until ${written(details.previousExpiresAt)}`);
      say('the new one is shown only now');
    });
}

/** Makes errors of the database's variables and of the database errors of the command. */
async function failing<T>(exitCode: number, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof StartupError ? new CommandError(exitCode, error.message) : error;
  }
}

function unknown(id: string): CommandError {
  return refused(`there is no token ${id}`);
}

function refused(message: string): CommandError {
  return new CommandError(EXIT.refused, message);
}

/** Whoever revokes or rotates a token relies on the time, so the command fails without one. */
function written(time: Date | null): string {
  if (time === null)
    throw new CommandError(EXIT.incomplete, 'the database has not stored the time');
  return time.toISOString();
}

function whyNotRotated({ id, status, previousExpiresAt }: TokenDetails): string {
  return status === 'active'
    ? `the token ${id} has the grace of an earlier rotation until ${written(previousExpiresAt)}: wait, or end it with --end-grace`
    : `the token ${id} is ${status}: create another`;
}

function untilOf({ expiresAt }: TokenDetails): string {
  return expiresAt === null ? 'which never expires' : `until ${expiresAt.toISOString()}`;
}

function scopesIn(known: readonly string[]) {
  return (text: string, others: readonly string[] = []): readonly string[] => {
    if (!known.includes(text)) {
      throw new InvalidArgumentError(`It must be one of ${known.join(', ')}.`);
    }
    return [...new Set([...others, text])];
  };
}
