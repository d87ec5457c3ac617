import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FaultyLink } from '../support/faulty-link.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/* The programs that docs/changes.md links to. */
const PROGRAMS = 'examples/followers';

type Command = readonly [string, ...string[]];

interface Follower {
  readonly language: string;
  readonly file: string;
  /** Makes a program that a signal ends. */
  readonly build?: Command;
  readonly start: Command;
  /** Kind and id of the change in a line that it prints. */
  readonly read: (line: string) => readonly [kind: string, id: string];
}

/** Position, kind and id. */
const readWords = (line: string) => {
  const [, kind = '', id = ''] = line.split(' ');
  return [kind, id] as const;
};

const FOLLOWERS: readonly Follower[] = [
  { language: 'python', file: 'follow.py', start: ['python3', 'follow.py'], read: readWords },
  {
    language: 'go',
    file: 'follow.go',
    build: ['go', 'build', 'follow.go'],
    start: ['./follow'],
    read: readWords,
  },
  {
    language: 'java',
    file: 'Follow.java',
    start: ['java', 'Follow.java'],
    read: (line) => {
      const { kind, id } = JSON.parse(line) as { readonly kind: string; readonly id: number };
      return [kind, String(id)];
    },
  },
];

const isAbsent = ({ build, start: [command] }: Follower) =>
  spawnSync(build?.[0] ?? command, [build === undefined ? '--version' : 'version']).status !== 0;
const absent = FOLLOWERS.filter(isAbsent);
// Set by .ci/run, which installs them.
if (process.env['CI'] !== undefined && absent.length > 0) {
  throw new Error(`missing: ${absent.map(({ language }) => language).join(', ')}`);
}

describe.each(FOLLOWERS.filter((follower) => !absent.includes(follower)))(
  'the program of examples/followers in $language',
  ({ file, build, start: [command, ...rest], read }) => {
    let service: TestService;
    let cwd: string;

    beforeAll(async () => {
      service = await startTestService();
      cwd = await mkdtemp(join(tmpdir(), 'plant-store-follower-'));
      await copyFile(join(PROGRAMS, file), join(cwd, file));
      if (build !== undefined) await promisify(execFile)(build[0], build.slice(1), { cwd });
    });

    afterAll(() => Promise.all([service.stop(), rm(cwd, { recursive: true, force: true })]));

    const follow = (url: string, token: string) =>
      spawn(command, [...rest, '0'], {
        cwd,
        env: { ...process.env, PLANT_STORE_URL: url, PLANT_STORE_TOKEN: token },
        stdio: ['ignore', 'pipe', 'pipe'],
      });

    it('prints each change once, also after its connection has broken', async () => {
      const link = await FaultyLink.to(service.url);
      const follower = follow(new URL(link.url).origin, TOKEN);
      try {
        const lines = createInterface(follower.stdout)[Symbol.asyncIterator]();
        const next = async () => read((await lines.next()).value as string);
        await service.post({ id: 1, name: 'Aloe' });
        expect(await next()).toEqual(['created', '1']);
        link.poison({ kind: 'down' });
        await service.request('DELETE', '/plants/1');
        link.cure();
        expect(await next()).toEqual(['removed', '1']);
      } finally {
        follower.kill();
        await link.close();
      }
    });

    it('ends when the service refuses its token', async () => {
      const follower = follow(service.url, 'not-a-token');
      const [code] = (await once(follower, 'exit')) as [number | null];
      expect(code).toBe(1);
    });
  },
);
