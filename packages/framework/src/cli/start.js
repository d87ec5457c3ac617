#!/usr/bin/env node
// First: an old Node.js cannot load the rest, and so must not be asked to before.
import '../config/node-version.js';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { startVariables } = await import('./start-variables.js');
const { findTaken } = await import('./taken.js');
const { findUnreachable } = await import('./unreachable.js');

/* `start-service build/main.js` builds the service, writes its client, and becomes the service. `npm start` runs it with `exec`,
   because npm does not pass signals through its shell. npm's `prestart` would not run with the setting `ignore-scripts`.

   `start-service build/cli/develop.js` starts another program, optionally after another npm script than `build`. */

const [, , program = 'build/main.js', script = 'build'] = process.argv;
const isWindows = process.platform === 'win32';
// Windows PowerShell writes a byte order mark, which npm ignores, too.
const manifest = JSON.parse(readFileSync('package.json', 'utf8').replace(/^\uFEFF/, ''));
// Without the scope that a package has in a workspace: the database has the name of the service.
const name = String(manifest.name).replace(/^.*\//, '');
const say = (text) => void process.stdout.write(`${name}: ${text}\n`);
const variables = startVariables();
const mistakes = await findTaken(name, variables);
// Whoever has to mend something else is not kept waiting.
const patience = mistakes.length > 0 ? 0 : undefined;
mistakes.push(...(await findUnreachable(variables, say, patience)));
for (const line of mistakes) process.stderr.write(`${name}: ${line}\n`);
if (mistakes.length > 0) process.exit(1);
say('building');
const build = spawnSync('npm', ['run', '--silent', script], { stdio: 'inherit', shell: isWindows });
if (build.error) process.stderr.write(`${name}: npm cannot be run: ${build.error.message}\n`);
if (build.status !== 0) process.exit(build.status ?? 1);
if (basename(program) === 'main.js') {
  // If this fails, the service starts without its client.
  const client = join(dirname(program), 'cli', 'write-client.js');
  spawnSync(process.execPath, [client, 'dist-client'], { stdio: 'inherit' });
}
process.setSourceMapsEnabled(true);
process.argv.splice(1, Infinity, resolve(program));
await import(pathToFileURL(resolve(program)).href);
