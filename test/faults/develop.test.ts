import { execFile } from 'node:child_process';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { Workspace } from '../support/process.js';
import type { ServiceProcess } from '../support/process.js';

beforeAll(() => promisify(execFile)('npm', ['run', 'build:dev', '--silent']));

const PLANT = '{"id":1,"name":"Monstera"}';

/** What `npm run start:dev` reads in the folder of the project. */
const COPIED = ['src', 'build', 'public', 'package.json', 'tsconfig.json', 'tsconfig.build.json'];

async function copyOfProject(): Promise<Workspace> {
  const project = await Workspace.create();
  for (const name of COPIED) {
    await cp(name, project.path(name), { recursive: true, preserveTimestamps: true });
  }
  await symlink(resolve('node_modules'), project.path('node_modules'));
  return project;
}

function startDevelop(project: Workspace): ServiceProcess {
  return project.start({}, { ownGroup: true, main: project.path('build/cli/develop.js') });
}

it('start:dev restarts the service on a change, keeps its database, and ends everything', async () => {
  const project = await copyOfProject();
  try {
    const develop = startDevelop(project);
    const before = await develop.listening();
    const headers = {
      Authorization: `Bearer ${await develop.token()}`,
      'Content-Type': 'application/json',
    };
    const created = await fetch(`${before.url}/plants`, { method: 'POST', headers, body: PLANT });
    expect(created.status).toBe(200);
    const note = project.path('.data', 'postgres', 'data', 'postmaster.pid');
    const server = await readFile(note, 'utf8');

    const source = project.path('src', 'start.ts');
    await writeFile(
      source,
      `process.stdout.write('changed\\n');\n${await readFile(source, 'utf8')}`,
    );
    await develop.printed(/^changed$/);
    const after = await develop.listening(2);
    expect(after.url).not.toBe(before.url);
    const stored = await fetch(`${after.url}/plants/1`, { headers });
    expect(await stored.text()).toBe(PLANT);
    expect(await readFile(note, 'utf8')).toBe(server);

    develop.killGroup('SIGINT');
    expect(await develop.exit()).toEqual({ code: 0, signal: null });
    expect(develop.stderr).toBe('');
    expect(await project.leftovers()).toEqual([]);
  } finally {
    await project.remove();
  }
});

it('start:dev ends with the compiler, with its exit code, and stops the database', async () => {
  const project = await copyOfProject();
  try {
    await rm(project.path('tsconfig.build.json'));
    const develop = startDevelop(project);
    expect(await develop.exit(60_000)).toEqual({ code: 1, signal: null });
    await develop.printed(/error TS5058/);
    expect(await project.leftovers()).toEqual([]);
  } finally {
    await project.remove();
  }
});
