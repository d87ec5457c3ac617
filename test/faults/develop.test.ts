import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { linkPackages } from '../support/installed-packages.js';
import { Workspace } from '../support/process.js';
import type { ServiceProcess } from '../support/process.js';

beforeAll(() => promisify(execFile)('npm', ['run', 'build:dev', '--silent']));

const PLANT = '{"id":1,"name":"Monstera"}';

/** What `npm run start:dev` reads in the folder of the project. */
const COPIED = [
  'src',
  'packages',
  'build',
  'dist',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** @param without packages that are left out */
async function copyOfProject(without: readonly string[] = []): Promise<Workspace> {
  const project = await Workspace.create();
  for (const name of COPIED) {
    await cp(name, project.path(name), { recursive: true, preserveTimestamps: true });
  }
  await linkPackages(project.folder, without);
  return project;
}

function startDevelop(project: Workspace): ServiceProcess {
  return project.start({}, { ownGroup: true, main: project.path('dist/cli/develop.js') });
}

it('start:dev has the local values, restarts the service on a change, keeps its database, and ends everything', async () => {
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
    // With the local values of the variables of webhooks.
    const webhook = { method: 'POST', headers, body: '{"url":"http://localhost:4000/hook"}' };
    expect((await fetch(`${before.url}/webhooks`, webhook)).status).toBe(201);
    const note = project.path('.data', 'postgres', 'data', 'postmaster.pid');
    const server = await readFile(note, 'utf8');

    let { url } = before;
    for (const [index, file] of [
      'src/main.ts',
      'packages/framework/src/app/bootstrap.ts',
    ].entries()) {
      const source = project.path(file);
      await writeFile(
        source,
        `process.stdout.write('changed ${file}\\n');\n${await readFile(source, 'utf8')}`,
      );
      await develop.printed(new RegExp(`^changed ${file}$`));
      const after = await develop.listening(index + 2);
      expect(after.url).not.toBe(url);
      ({ url } = after);
      const stored = await fetch(`${url}/plants/1`, { headers });
      expect(await stored.text()).toBe(PLANT);
      expect(await readFile(note, 'utf8')).toBe(server);
    }

    develop.killGroup('SIGINT');
    expect(await develop.exit()).toEqual({ code: 0, signal: null });
    expect(develop.stderr).toBe('');
    expect(await project.leftovers()).toEqual([]);
  } finally {
    await project.remove();
  }
});

it('start:dev ends with the compiler, with its exit code, and stops the database', async () => {
  const project = await copyOfProject(['typescript']);
  try {
    // No mistake in the project ends the real one: it waits for the next change.
    const compiler = project.path('node_modules', 'typescript', 'bin');
    await mkdir(compiler, { recursive: true });
    await writeFile(`${compiler}/tsc`, "console.log('error TS5058'); process.exitCode = 3;");
    const develop = startDevelop(project);
    expect(await develop.exit(60_000)).toEqual({ code: 3, signal: null });
    await develop.printed(/error TS5058/);
    expect(await project.leftovers()).toEqual([]);
  } finally {
    await project.remove();
  }
});
