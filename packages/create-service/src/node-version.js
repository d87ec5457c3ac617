import { readFileSync } from 'node:fs';

/* Exits if the Node.js version is not supported. In syntax that old versions can run. */

/** Copied from packages/framework/src/config/node-version.js, because this command has no dependencies. */
export function isWithin(version, range) {
  const [major, ...rest] = version.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [least, ...leastRest] = part.replace(/^\D+/, '').split('.').map(Number);
    if (major !== least) return part.startsWith('>=') && major > least;
    const difference = rest.map((number, index) => number - leastRest[index]).find(Boolean);
    return difference === undefined || difference > 0;
  });
}

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const version = process.versions.node;
if (!isWithin(version, engines.node)) {
  process.stderr.write(
    `create-service: Node.js ${version} is not supported, ${engines.node} is required\n`,
  );
  process.exit(1);
}
