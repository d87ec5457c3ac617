import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  create,
  duringInitdb,
  expectCleanEnd,
  postmaster,
  read,
} from '../support/local-instance.js';
import { TOKEN } from '../support/crowd.js';
import { Workspace } from '../support/process.js';
import type { ServiceProcess } from '../support/process.js';

const PLANT = '{"id":1,"name":"Monstera","tag":"indoor"}';

let workspace: Workspace;

beforeEach(async () => {
  workspace = await Workspace.create();
});

afterEach(() => workspace.remove());

function start(): ServiceProcess {
  return workspace.start({ AUTH_TOKEN: TOKEN });
}

describe('a local instance that is killed', () => {
  it('takes over the database of a killed service, with every plant', async () => {
    const killed = start();
    const { url } = await killed.listening();
    const acknowledged = await createUntil(url, 50, () => killed.kill('SIGKILL'));
    expect(await killed.exit()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(workspace.processes()).not.toEqual([]);
    await expectRecovery(acknowledged);
  });

  it('recovers when the service and its database were killed, with every plant', async () => {
    const killed = start();
    const { url } = await killed.listening();
    const { pid } = postmaster(workspace);
    const acknowledged = await createUntil(url, 50, () => {
      killed.kill('SIGKILL');
      process.kill(pid, 'SIGKILL');
    });
    expect(await killed.exit()).toEqual({ code: null, signal: 'SIGKILL' });
    await expectRecovery(acknowledged);
  });

  it('recovers when its killed database is a zombie', async () => {
    const stopped = start();
    expect(await create((await stopped.listening()).url, TOKEN, PLANT)).toBe(200);
    // As in a container whose init does not reap zombies: the parent is stopped.
    stopped.kill('SIGSTOP');
    process.kill(postmaster(workspace).pid, 'SIGKILL');
    const service = start();
    const { url } = await service.listening();
    expect(await read(url, TOKEN, '1')).toBe(PLANT);
    stopped.kill('SIGKILL');
    await stopped.exit();
    await expectCleanEnd(service, workspace);
  });

  it('recovers when it was killed while the first database was created, and cleans up', async () => {
    for (const initdbIsKilled of [false, true]) {
      const killed = start();
      await duringInitdb(workspace);
      killed.kill('SIGKILL');
      await killed.exit();
      if (initdbIsKilled) workspace.kill('SIGKILL');
    }
    const service = start();
    const { url } = await service.listening();
    expect(await create(url, TOKEN, PLANT)).toBe(200);
    await expectCleanEnd(service, workspace);
    expect(readdirSync(workspace.path('.data')).toSorted()).toEqual([
      'postgres',
      'webhook-secret-key',
    ]);
  });
});

/**
 * Creates plants, several at a time, until the service is gone; does something once there are so many.
 *
 * @returns the plants that were acknowledged, by their ids
 */
async function createUntil(
  url: string,
  enough: number,
  act: () => void,
): Promise<Map<string, string>> {
  const acknowledged = new Map<string, string>();
  let nextId = randomInt(2 ** 40);
  let acted = false;
  const createMany = async () => {
    for (;;) {
      const id = String(nextId++);
      const plant = JSON.stringify({ id: Number(id), name: randomUUID(), tag: `für ${id}` });
      const status = await create(url, TOKEN, plant).catch(() => undefined);
      if (status === undefined) return;
      expect(status).toBe(200);
      acknowledged.set(id, plant);
      if (acknowledged.size >= enough && !acted) {
        acted = true;
        act();
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, createMany));
  expect(acknowledged.size).toBeGreaterThanOrEqual(enough);
  return acknowledged;
}

/** Starts again after a kill, and compares acknowledged with stored plants. */
async function expectRecovery(acknowledged: ReadonlyMap<string, string>): Promise<void> {
  const service = start();
  const { url } = await service.listening();
  const stored = await Promise.all([...acknowledged.keys()].map((id) => read(url, TOKEN, id)));
  expect(stored).toEqual([...acknowledged.values()]);
  await expectCleanEnd(service, workspace);
}
