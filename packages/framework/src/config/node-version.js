#!/usr/bin/env node
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/* Exits if the Node.js version is not supported. Written in early ES module syntax, which old versions can run, and in
   JavaScript, so that it also runs before the build. */

/**
 * Whether a version is in a range in the form of `engines` in package.json.
 *
 * @param {string} version such as `20.19.0`
 * @param {string} range such as `^20.19.0 || >=22.13.0`
 */
export function isWithin(version, range) {
  const [major, ...rest] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [least, ...leastRest] = part.replace(/^\D+/, '').split('.').map(Number);
    if (major !== least) return part.startsWith('>=') && major > least;
    const difference = rest.map((number, index) => number - leastRest[index]).find(Boolean);
    return difference === undefined || difference > 0;
  });
}

/**
 * The package.json of the package in which a folder is.
 *
 * @param {string} folder
 * @returns {{ name: string, engines: { node: string } } | undefined}
 */
function manifestOf(folder) {
  const file = join(folder, 'package.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
  return dirname(folder) === folder ? undefined : manifestOf(dirname(folder));
}

/** npm runs these tools of the framework in the folder of the service. */
function service() {
  const [, program] = process.argv;
  if (program === undefined) return manifestOf(process.cwd());
  const file = existsSync(program) ? realpathSync(program) : program;
  const isTool = /[\\/](config[\\/]node-version|cli[\\/]start)\.js$/.test(file);
  return manifestOf(isTool ? process.cwd() : dirname(file));
}

const own = manifestOf(dirname(fileURLToPath(import.meta.url)));
const version = process.versions.node;
if (own !== undefined && !isWithin(version, own.engines.node)) {
  const { name } = service() || own;
  process.stderr.write(
    `${name}: Node.js ${version} is not supported, ${own.engines.node} is required\n`,
  );
  process.exit(1);
}
