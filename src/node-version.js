import { readFileSync } from 'node:fs';

/* Ends the process where Node.js is too old for the service. JavaScript of its first days as a language of
   modules, and no TypeScript, so that it can also be asked before anything is built. */

/**
 * Whether a version is within a range of the kind that `engines` in package.json has.
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

const file = new URL('../package.json', import.meta.url);
/** @type {{ engines: { node: string } }} */
const { engines } = JSON.parse(readFileSync(file, 'utf8'));
const version = process.versions.node;
if (!isWithin(version, engines.node)) {
  process.stderr.write(`plant-store: this is Node.js ${version}, and ${engines.node} is needed\n`);
  process.exit(1);
}
