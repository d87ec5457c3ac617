import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StaticTokenVerifier } from '../../src/auth/static-token.verifier.js';
import { readConfig } from '../../src/config/config.js';
import { POLL_INTERVAL, secretOf } from '../../src/config/secret-file.js';
import { MountedSecret } from '../support/mounted-secret.js';
import { IDENTITY } from '../support/identity.js';

const OLD = 'old-'.repeat(8);
const NEW = 'new-'.repeat(8);

/** The id of the user nobody on most systems. Any works that is nobody's. */
const NOBODY = 65_534;

let folder: string;
let mount: MountedSecret;
let lines: string[];
let running: StaticTokenVerifier | undefined;

const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tool-library-secret-'));
  mount = await MountedSecret.create(join(folder, 'mount'), { token: OLD });
  lines = [];
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});

afterEach(async () => {
  running?.onModuleDestroy();
  running = undefined;
  vi.useRealTimers();
  await rm(folder, { recursive: true });
});

/** The tokens of a service that runs, and its verifier. */
function start(environment: Readonly<Record<string, string>> = {}): StaticTokenVerifier {
  const config = readConfig(IDENTITY, {
    AUTH_TOKEN_FILE: mount.path('token'),
    AUTH_TOKEN_PREVIOUS_FILE: mount.path('previous-token'),
    ...environment,
  });
  const { token, previousToken } = config.auth;
  running = new StaticTokenVerifier(
    secretOf('AUTH_TOKEN', token!, config, log),
    secretOf('AUTH_TOKEN_PREVIOUS', previousToken, config, log),
    log,
  );
  running.onModuleInit();
  return running;
}

/** The id of the principal of each token. */
function ids(verifier: StaticTokenVerifier, ...given: readonly string[]) {
  return given.map((token) => verifier.verify(token)?.id);
}

/** Root may read every file, so it becomes the user nobody meanwhile. */
function withoutPrivileges(work: () => void): void {
  if (process.geteuid?.() !== 0) return work();
  process.seteuid?.(NOBODY);
  try {
    work();
  } finally {
    process.seteuid?.(0);
  }
}

function entries(): { level?: number }[] {
  return lines.map((line) => JSON.parse(line) as { level?: number });
}

/** Mounts other files, and lets the service look at them. */
async function mountAndPoll(files: Record<string, string>, polls = 1): Promise<void> {
  await mount.replace(files);
  vi.advanceTimersByTime(polls * POLL_INTERVAL);
}

const CHANGED = { level: 30, variable: 'AUTH_TOKEN', msg: 'a secret has changed' };
const UNREADABLE = 'AUTH_TOKEN_FILE must name a file that can be read and has at most 64 KB';
const KEPT = 'the file of a secret is not valid: the last valid value stays in use';

describe('tokens in files', () => {
  it('change without a restart, and both are accepted meanwhile', async () => {
    const verifier = start();
    expect(ids(verifier, OLD, NEW, '')).toEqual(['AUTH_TOKEN', undefined, undefined]);

    await mountAndPoll({ token: NEW, 'previous-token': `${OLD}\n` });
    expect(ids(verifier, OLD, NEW, '')).toEqual(['AUTH_TOKEN_PREVIOUS', 'AUTH_TOKEN', undefined]);

    await mountAndPoll({ token: NEW });
    expect(ids(verifier, OLD, NEW, '')).toEqual([undefined, 'AUTH_TOKEN', undefined]);
    const previous = { ...CHANGED, variable: 'AUTH_TOKEN_PREVIOUS' };
    expect(entries()).toEqual([CHANGED, previous, previous]);
    expect(lines.join()).not.toMatch(/old-|new-/);
  });

  it('are two at most: the log tells that a second rotation has ended the grace of the first', async () => {
    const verifier = start();
    await mountAndPoll({ token: NEW, 'previous-token': OLD });
    const warnings = () => entries().filter(({ level }) => level === 40);
    expect(warnings()).toEqual([]);

    const newest = `newest-${NEW}`;
    await mountAndPoll({ token: newest, 'previous-token': NEW });
    expect(ids(verifier, OLD, NEW, newest)).toEqual([
      undefined,
      'AUTH_TOKEN_PREVIOUS',
      'AUTH_TOKEN',
    ]);
    expect(warnings()).toEqual([
      {
        level: 40,
        msg: 'AUTH_TOKEN_PREVIOUS has another token, so the one before is rejected: a rotation began before the end of another',
      },
    ]);

    // Taken back: the token that was current is the previous one.
    await mountAndPoll({ token: NEW, 'previous-token': newest });
    expect(ids(verifier, NEW, newest)).toEqual(['AUTH_TOKEN', 'AUTH_TOKEN_PREVIOUS']);
    expect(warnings()).toHaveLength(1);
  });

  it('are read at once when the application is ready, because the start may have waited', async () => {
    const config = readConfig(IDENTITY, { AUTH_TOKEN_FILE: mount.path('token') });
    const token = secretOf('AUTH_TOKEN', OLD, config, log);
    await mount.replace({ token: NEW });
    running = new StaticTokenVerifier(
      token,
      secretOf('AUTH_TOKEN_PREVIOUS', undefined, config, log),
      log,
    );
    running.onModuleInit();
    expect(ids(running, NEW)).toEqual(['AUTH_TOKEN']);
  });

  it.each([
    ['empty', ''],
    ['too short', 'short'],
    ['not in the syntax of tokens', `${NEW} ${NEW}`],
  ])('stay as they are when the new content is %s', async (_, content) => {
    const verifier = start();
    await mountAndPoll({ token: content }, 3);
    expect(ids(verifier, OLD)).toEqual(['AUTH_TOKEN']);
    const rule = /^the content of AUTH_TOKEN_FILE must be 32 or more/;
    const reason = expect.stringMatching(rule) as string;
    expect(entries()).toEqual([{ level: 40, variable: 'AUTH_TOKEN', reason, msg: KEPT }]);
    if (content !== '') expect(lines.join()).not.toContain(content);

    await mountAndPoll({ token: OLD }, 2);
    expect(entries().slice(1)).toEqual([
      { level: 30, variable: 'AUTH_TOKEN', msg: 'the file of a secret is valid again' },
    ]);
  });

  it('stay as they are when the file is gone, and warn again about another problem', async () => {
    const verifier = start();
    await mountAndPoll({}, 2);
    await mountAndPoll({ token: 'short' }, 2);
    expect(ids(verifier, OLD)).toEqual(['AUTH_TOKEN']);
    expect(entries()).toMatchObject([
      { reason: UNREADABLE },
      { reason: expect.stringContaining('must be 32 or more') as string },
    ]);
  });

  it('cannot become a token that everybody knows', async () => {
    const verifier = start({ PUBLIC_BASE_URL: 'https://shop.example.com/api' });
    const known = `tool-library-local-${NEW}`;
    await mountAndPoll({ token: known, 'previous-token': known });
    expect(ids(verifier, OLD, known)).toEqual(['AUTH_TOKEN', undefined]);
    const reason = expect.stringMatching(/^AUTH_TOKEN\w* must not begin with tool-library-local-/);
    expect(entries()).toMatchObject([
      { level: 40, variable: 'AUTH_TOKEN', reason, msg: KEPT },
      { level: 40, variable: 'AUTH_TOKEN_PREVIOUS', reason, msg: KEPT },
    ]);
  });

  it('are not read any more after the shutdown', async () => {
    const verifier = start();
    running?.onModuleDestroy();
    await mountAndPoll({ token: NEW }, 2);
    expect(ids(verifier, NEW)).toEqual([undefined]);
  });

  it('stay as they are when the file may not be read', async () => {
    await mount.replace({ token: OLD });
    const verifier = start();
    await chmod(folder, 0o755);
    await chmod(mount.path('token'), 0);
    withoutPrivileges(() => vi.advanceTimersByTime(POLL_INTERVAL));
    expect(ids(verifier, OLD)).toEqual(['AUTH_TOKEN']);
    expect(entries()).toMatchObject([{ reason: UNREADABLE, msg: KEPT }]);
  });
});
