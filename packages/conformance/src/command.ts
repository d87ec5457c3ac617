import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { OpenApiDocument } from '@resource-service/client/document';
import { checks } from './checks.js';
import type { Result } from './check.js';
import { toJson } from './json.js';
import { tapOf } from './report.js';
import { ServiceProcess } from './service-process.js';
import { TestedService } from './tested-service.js';

const USAGE = `usage: conformance --url <address of the service> --token-file <file> [options]

  --token-file <file>        a token with all scopes
  --read-token-file <file>   a token with some scopes of reading operations, and no others
  --other-token-file <file>  a token of another principal, for rows that only their owners see
  --document <file>          the OpenAPI document, instead of <url>/openapi.json
  --start <command>          starts the service, so that checks can kill it
  --metrics <url>            such as http://localhost:3001/metrics, to watch the memory
  --only <text>              runs the checks whose names contain the text
  --seed <integer>           repeats the values of a former run, except ids
  --timeout <seconds>        of a check, by default 600: one that takes longer fails
  --remote                   allows an address that is not of this machine
  --json                     a line of JSON for each result

The checks create, change and remove rows: use a service whose data you can lose.
`;

const OPTIONS = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  'read-token-file': { type: 'string' },
  'other-token-file': { type: 'string' },
  document: { type: 'string' },
  start: { type: 'string' },
  metrics: { type: 'string' },
  only: { type: 'string' },
  seed: { type: 'string' },
  timeout: { type: 'string' },
  remote: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** A day. */
const MAX_SECONDS = 86_400;

class UsageError extends Error {}

/**
 * Runs the command.
 *
 * @param write takes the report
 * @returns the exit code: 0 if no check fails, 1 if one does, 2 if they cannot run
 */
export async function run(
  words: readonly string[],
  write: (text: string) => void,
  complain: (text: string) => void,
): Promise<number> {
  try {
    return await conform(words, write);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    complain(`conformance: ${message}\n${error instanceof UsageError ? `\n${USAGE}` : ''}`);
    return 2;
  }
}

async function conform(words: readonly string[], write: (text: string) => void): Promise<number> {
  const options = optionsOf(words);
  const { url, only = '', start, json = false } = options;
  const tokenFile = options['token-file'];
  if (url === undefined || tokenFile === undefined || !URL.canParse(url)) {
    throw new UsageError('--url and --token-file are needed');
  }
  const { hostname } = new URL(url);
  if (options.remote !== true && !LOCAL.test(hostname)) {
    throw new UsageError(`${hostname} is not this machine: say --remote if you can lose its data`);
  }
  const seed = options.seed === undefined ? undefined : Number(options.seed);
  if (seed !== undefined && !Number.isSafeInteger(seed)) {
    throw new UsageError('--seed is not an integer');
  }
  const seconds = options.timeout === undefined ? undefined : Number(options.timeout);
  if (seconds !== undefined && !(seconds > 0 && seconds <= MAX_SECONDS)) {
    throw new UsageError(`--timeout is not a number of seconds up to ${MAX_SECONDS}`);
  }
  const checkTimeout = seconds && seconds * 1_000;
  const process = start === undefined ? undefined : new ServiceProcess(start, url);
  await process?.start();
  try {
    const document = await documentOf(url, options.document);
    // A first start can make the token.
    const token = await tokenIn(tokenFile);
    const readToken = await givenToken(options['read-token-file']);
    const otherToken = await givenToken(options['other-token-file']);
    const tokens = { token, readToken, otherToken };
    const given = { url, ...tokens, metricsUrl: options.metrics, seed, checkTimeout };
    const service = new TestedService(document, given, process);
    const all = checks(document).filter(({ name }) => name.includes(only));
    if (!json) write(`TAP version 14\n1..${all.length}\n# seed ${service.random.seed}\n`);
    let failures = 0;
    for (const [n, check] of all.entries()) {
      const result = await check.run(service);
      if (result.outcome === 'fail') failures += 1;
      write(`${json ? jsonOf(result, service.random.seed) : tapOf(result, n + 1)}\n`);
    }
    const left = await service.removeRows();
    if (!json && left.length > 0) write(`# ${left.length} rows are left, such as ${left[0]}\n`);
    return failures > 0 ? 1 : 0;
  } finally {
    await process?.stop();
  }
}

function optionsOf(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function givenToken(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : tokenIn(file);
}

async function tokenIn(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trim();
}

async function documentOf(url: string, file: string | undefined): Promise<OpenApiDocument> {
  if (file !== undefined) return JSON.parse(await readFile(file, 'utf8')) as OpenApiDocument;
  const address = `${url.replace(/\/$/, '')}/openapi.json`;
  const response = await fetch(address).catch((error: unknown) => {
    throw new Error(`nothing responds at ${address}`, { cause: error });
  });
  if (!response.ok) throw new Error(`${address} gets ${response.status}: use --document`);
  return (await response.json()) as OpenApiDocument;
}

function jsonOf(result: Result, seed: number): string {
  return toJson({ ...result, seed });
}
