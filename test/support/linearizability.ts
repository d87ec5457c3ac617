import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const SOURCE = resolve('test/linearizability');

const CHECKER = resolve('node_modules/.cache/linearizability');

/** Where the checker writes what is not linearizable. */
const FAILURES = resolve('test/linearizability/failures');

/** The members of a plant, or of a change of a plant. */
export interface Members {
  readonly name?: string;
  readonly tag?: string | null;
}

/** What a client wants of one plant. */
export interface Wish {
  readonly id: number;
  readonly kind: 'create' | 'look-up' | 'replace' | 'patch' | 'remove';
  readonly body?: Members;
  readonly ifMatch?: string;
}

/** What a client learnt about one plant. */
export interface Reply {
  /** The number of the error, otherwise the status. */
  readonly outcome: number;
  readonly answer?: Members;
  readonly etag?: string;
}

/** A line of a history, as `test/linearizability/model.go` reads it. A page is a `list` for each id on it. */
export interface Operation extends Omit<Wish, 'kind'>, Partial<Reply> {
  readonly kind: Wish['kind'] | 'list';
  readonly client: number;
  /** In milliseconds, on one clock. */
  readonly call: number;
  /** Without it, nobody knows whether the operation had, has or will have an effect. */
  readonly return?: number;
}

/** Builds the checker, and removes what it wrote before. */
export async function buildChecker(): Promise<void> {
  await rm(FAILURES, { recursive: true, force: true });
  // Without the version control stamp, which takes a Git repository.
  const build = ['build', '-buildvcs=false', '-o', CHECKER, '.'];
  await promisify(execFile)('go', build, { cwd: SOURCE });
}

/**
 * Checks a history id by id.
 *
 * @param history NDJSON
 * @returns what the checker says, with the names of the files that it wrote about ids that are not linearizable
 */
export async function check(
  history: string,
  folder = FAILURES,
): Promise<{ readonly isLinearizable: boolean; readonly report: string }> {
  const checker = spawn(CHECKER, [folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  // If the checker ends early, its exit code tells.
  checker.stdin.on('error', () => {});
  checker.stdin.end(history);
  const [report, [code]] = await Promise.all([text(checker.stdout), once(checker, 'close')]);
  if (code !== 0 && code !== 1) throw new Error(`the checker ended with ${code}`);
  return { isLinearizable: code === 0, report };
}
