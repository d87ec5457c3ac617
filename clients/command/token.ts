import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { DataSource } from 'typeorm';
import type {
  Lifetime,
  TokenDetails,
} from '../../packages/framework/src/auth/issued-tokens/token-issuance.js';
import { StartupError } from '../../packages/framework/src/errors/startup.error.js';
import { IDENTITY } from '../../src/identity.js';
import { CommandError, EXIT, usageError } from './command-error.js';
import { duration, lifetime, MAX_GRACE, tokenName } from './durations.js';
import { SCOPES } from './resources.js';
import type { Terminal } from './terminal.js';
import { tokenTable } from './token-table.js';

const ENVIRONMENT = `
Environment:
  DATABASE_URL  the database of the service. Without it, the one of the instance that runs in this folder (npm start)
In a container of the service, it is set already.`;

const CREATE_HELP = `
Standard output has only the token. It is shown once, because the database has only a hash of it.
${ENVIRONMENT}

Examples:
  TOKEN=$(plant-store token create --name "nightly import" --expires 90d)
  plant-store token create --name dashboard --scope plants:read`;

const ID_FORM = `the 12 characters after ${IDENTITY.tokenPrefix}_`;
const ID_HELP = `id of the token: ${ID_FORM}`;

interface CreateOptions {
  readonly name: string;
  readonly scope?: readonly string[];
  readonly expires: Lifetime;
}

interface RotateOptions {
  readonly grace: number;
  readonly endGrace?: boolean;
  readonly expires?: Lifetime;
}

/** The database part is loaded only by a command that needs it, because it takes longer than the rest. */
const issuance = () => import('../../packages/framework/src/auth/issued-tokens/token-issuance.js');

/** Adds `plant-store token`: commands of an operator, which use the database instead of the service. */
export function addTokenCommands(
  program: Command,
  terminal: Terminal,
  signal: AbortSignal,
  onDone: () => void,
): void {
  const { stdout, stderr, env } = terminal;
  const say = (text: string) => void stderr.write(`${text}\n`);
  const token = program
    .command('token')
    .description('Issue, list, revoke and rotate tokens, in the database of the service.')
    .addHelpText('after', ENVIRONMENT)
    .hook('postAction', onDone);

  token
    .command('create')
    .description('Issue a token.')
    .requiredOption('--name <name>', 'who or what uses the token', tokenName)
    .option('--scope <scope>', 'permit this only; repeatable (default: all scopes)', scopes)
    .addOption(
      new Option('--expires <duration>', 'lifetime, such as 90d, 24h or 30m, or never')
        .argParser(lifetime)
        .default(90 * 86_400, '90d'),
    )
    .addHelpText('after', CREATE_HELP)
    .action(async ({ name, scope = SCOPES, expires }: CreateOptions) => {
      const { createToken, MAX_TOKENS } = await issuance();
      const format = await tokenFormat();
      await requireAcceptance(env);
      const issued = await useDatabase(env, signal, (dataSource) =>
        createToken(dataSource, format, { name, scopes: scope, lifetime: expires }),
      );
      if (issued === undefined) {
        throw refused(`there are ${MAX_TOKENS} tokens that have not expired: revoke some first`);
      }
      stdout.write(`${issued.token}\n`);
      const { details } = issued;
      say(`issued the token ${details.id} with ${details.scopes.join(' ')}, ${untilOf(details)}`);
      say('it is shown only now');
    });

  token
    .command('list')
    .description('List all tokens, without their secrets.')
    .option('--json', 'as JSON')
    .addHelpText('after', ENVIRONMENT)
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const { listTokens } = await issuance();
      const tokens = await useDatabase(env, signal, listTokens);
      stdout.write(json ? `${JSON.stringify(tokens, undefined, 2)}\n` : tokenTable(tokens));
    });

  token
    .command('revoke')
    .description('Revoke a token. Every replica refuses it within 10 seconds.')
    .argument('<id>', ID_HELP)
    .addHelpText('after', ENVIRONMENT)
    .action(async (id: string) => {
      const { revokeToken } = await issuance();
      await requireId(id);
      const details = await useDatabase(env, signal, (dataSource) => revokeToken(dataSource, id));
      if (details === undefined) throw unknown(id);
      say(`revoked the token ${id} (${details.name}) at ${written(details.revokedAt)}`);
    });

  token
    .command('rotate')
    .description('Give a token a new secret. The old one is accepted for some time.')
    .argument('<id>', ID_HELP)
    .addOption(
      new Option('--grace <duration>', 'how long the old secret is accepted')
        .argParser(grace)
        .default(86_400, '24h'),
    )
    .option(
      '--end-grace',
      'refuse the secret before at once, if an earlier rotation still accepts it',
    )
    .option('--expires <duration>', 'new lifetime, or never (default: as long as before)', lifetime)
    .addHelpText('after', CREATE_HELP.split('\n\nExamples')[0]!)
    .action(async (id: string, options: RotateOptions) => {
      const { grace: seconds, endGrace: endsGrace = false, expires } = options;
      const { rotateToken } = await issuance();
      const format = await tokenFormat();
      await requireId(id);
      await requireAcceptance(env);
      const rotated = await useDatabase(env, signal, (dataSource) =>
        rotateToken(dataSource, format, id, { grace: seconds, lifetime: expires, endsGrace }),
      );
      if (rotated === undefined) throw unknown(id);
      const { details } = rotated;
      if (!('token' in rotated)) throw refused(whyNotRotated(details));
      stdout.write(`${rotated.token}\n`);
      say(`rotated the token ${id} (${details.name}), ${untilOf(details)}`);
      say(`the old secret is accepted until ${written(details.previousExpiresAt)}`);
      say('the new one is shown only now');
    });
}

async function useDatabase<Result>(
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
  use: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const { findDatabase, withDatabase } =
    await import('../../packages/framework/src/cli/token-database.js');
  const url = await findDatabase(IDENTITY, environment, signal).catch(failed(EXIT.usage));
  return withDatabase(IDENTITY, url, signal, use).catch(failed(EXIT.incomplete));
}

async function requireAcceptance(environment: NodeJS.ProcessEnv): Promise<void> {
  const database = await import('../../packages/framework/src/cli/token-database.js');
  try {
    database.requireAcceptance(environment);
  } catch (error) {
    failed(EXIT.usage)(error);
  }
}

function failed(exitCode: number): (error: unknown) => never {
  return (error) => {
    throw error instanceof StartupError ? new CommandError(exitCode, error.message) : error;
  };
}

async function tokenFormat() {
  const { TokenFormat } =
    await import('../../packages/framework/src/auth/issued-tokens/token-format.js');
  return new TokenFormat(IDENTITY);
}

/** Somebody may have given the token instead of its id, so the message does not repeat the text. */
async function requireId(text: string): Promise<void> {
  const { isTokenId } =
    await import('../../packages/framework/src/auth/issued-tokens/token-format.js');
  if (!isTokenId(text)) throw usageError(`the id of a token is ${ID_FORM}`);
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

function scopes(text: string, others: readonly string[] = []): readonly string[] {
  if (!SCOPES.includes(text)) {
    throw new InvalidArgumentError(`It must be one of ${SCOPES.join(', ')}.`);
  }
  return [...new Set([...others, text])];
}

function grace(text: string): number {
  const seconds = duration(text);
  if (seconds !== undefined && seconds <= MAX_GRACE) return seconds;
  throw new InvalidArgumentError('It must be at most 90d, such as 24h or 30m.');
}
