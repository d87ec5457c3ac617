import { execFile, spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Sender } from '../../packages/webhooks/src/outgoing/sender.js';
import { lastingPort } from '../support/lasting-port.js';

/* The programs that docs/webhooks.md links to. `npm run types` checks the types of the one in TypeScript. */
const PROGRAMS = 'examples/webhooks';

type Command = readonly [string, ...string[]];

interface Program {
  readonly language: string;
  readonly file: string;
  /** What must be there. */
  readonly probe: Command;
  readonly build?: (folder: string) => Promise<unknown>;
  readonly start: Command;
}

const RECEIVERS: readonly Program[] = [
  {
    language: 'typescript',
    file: 'receive.ts',
    probe: ['node', '--version'],
    build: async (folder) => {
      const options = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 };
      const source = await readFile(join(folder, 'receive.ts'), 'utf8');
      const { outputText } = transpileModule(source, { compilerOptions: options });
      await writeFile(join(folder, 'receive.mjs'), outputText);
    },
    start: ['node', 'receive.mjs'],
  },
  {
    language: 'python',
    file: 'receive.py',
    probe: ['python3', '--version'],
    start: ['python3', 'receive.py'],
  },
  {
    language: 'go',
    file: 'receive.go',
    probe: ['go', 'version'],
    build: (cwd) => promisify(execFile)('go', ['build', 'receive.go'], { cwd }),
    start: ['./receive'],
  },
];

const absent = RECEIVERS.filter(
  ({ probe: [name, option] }) => spawnSync(name, [option!]).status !== 0,
);
// Set by .ci/run, which installs them.
if (process.env['CI'] !== undefined && absent.length > 0) {
  throw new Error(`missing: ${absent.map(({ language }) => language).join(', ')}`);
}

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;

// Characters that each language writes in another way.
const BODY =
  '{"type":"plant.created","timestamp":"2026-11-28T12:00:00.000Z","data":{"id":1.0,"name":"S\u00e9ne\\u00e7on"}}';

const DELIVERED = { kind: 'delivered', status: 204 };
const REJECTED = { kind: 'failed', status: 400 };

describe.each(RECEIVERS.filter((receiver) => !absent.includes(receiver)))(
  'the receiver of examples/webhooks in $language',
  ({ file, build, start: [command, ...rest] }) => {
    const sender = new Sender({ allowedNetworks: '', allowsHttpOnLoopback: true, timeout: 60_000 });
    let folder: string;
    let receiver: ReturnType<typeof run>;
    let port: number;
    let lines: AsyncIterator<string>;

    const run = (environment: Readonly<Record<string, string>>) =>
      spawn(command, rest, {
        cwd: folder,
        env: { ...process.env, ...environment },
        stdio: ['ignore', 'pipe', 'inherit'],
      });

    interface Sent {
      readonly id?: string;
      readonly body?: string;
      readonly secrets?: readonly string[];
      /** In seconds. */
      readonly age?: number;
    }

    const send = ({ id = 'plant_1', body = BODY, secrets = [SECRET], age = 0 }: Sent = {}) => {
      const timestamp = new Date(Date.now() - age * 1_000);
      const { signal } = new AbortController();
      return sender.send(`http://127.0.0.1:${port}/`, { id, timestamp, body }, secrets, signal);
    };

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'plant-store-receiver-'));
      await copyFile(join(PROGRAMS, file), join(folder, file));
      await build?.(folder);
      port = await lastingPort();
      receiver = run({ PLANT_STORE_WEBHOOK_SECRET: SECRET, PORT: String(port) });
      lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
      const isThere = async () => expect(await send({ age: 3_600 })).toMatchObject(REJECTED);
      await vi.waitFor(isThere, { timeout: 120_000, interval: 100 });
    });

    afterAll(async () => {
      receiver.kill();
      await sender.close();
      await rm(folder, { recursive: true, force: true });
    });

    it('prints what is sent with its secret', async () => {
      expect(await send()).toEqual(DELIVERED);
      expect((await lines.next()).value).toMatch(/^plant_1 plant\.created \{.*S.*on/);
    });

    it('accepts any of two signatures', async () => {
      expect(await send({ id: 'plant_2', secrets: [OTHER_SECRET, SECRET] })).toEqual(DELIVERED);
      expect(await send({ id: 'plant_3', secrets: [SECRET, OTHER_SECRET] })).toEqual(DELIVERED);
      expect((await lines.next()).value).toMatch(/^plant_2 /);
      expect((await lines.next()).value).toMatch(/^plant_3 /);
    });

    it.each([
      ['is sent with another secret', { secrets: [OTHER_SECRET] }],
      ['has no signature', { secrets: [] }],
      ['is old', { age: 600 }],
      ['is of the future', { age: -600 }],
    ])('rejects what %s', async (_, sent) => {
      expect(await send(sent)).toMatchObject(REJECTED);
    });

    it('rejects a large body', async () => {
      const outcome = await send({ body: JSON.stringify('x'.repeat(2_000_000)) });
      // The connection may end before all is sent.
      expect(outcome.kind).toBe('failed');
    });

    it('does not start without a secret', async () => {
      const program = run({ PLANT_STORE_WEBHOOK_SECRET: '', PORT: String(await lastingPort()) });
      const code = await new Promise((resolve) => program.once('exit', resolve));
      expect(code).toBe(1);
    });
  },
);
