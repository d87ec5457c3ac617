import { readFileSync } from 'node:fs';

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

/* npm runs this file in the folder of the service. The programs of the service, which import it, run in any folder. */
const isProgram = String(process.argv[1]).endsWith('node-version.js');
const file = isProgram ? 'package.json' : new URL('../../package.json', import.meta.url);
/** @type {{ name: string, engines: { node: string } }} */
const { name, engines } = JSON.parse(readFileSync(file, 'utf8'));
const version = process.versions.node;
if (!isWithin(version, engines.node)) {
  process.stderr.write(
    `${name}: Node.js ${version} is not supported, ${engines.node} is required\n`,
  );
  process.exit(1);
}
