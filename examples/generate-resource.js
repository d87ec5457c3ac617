import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * `npm run generate -- orchard orchards`: copies the resource gardens in this folder under another name. Leaves out the lines
 * between `#region` and `#endregion`, which only gardens need.
 */

const TEMPLATE = 'examples/gardens';
const [one = '', many = ''] = process.argv.slice(2);
const folder = `src/${many}`;

if (![one, many].every((name) => /^[a-z]{2,30}$/.test(name)) || one === many) {
  fail('usage: npm run generate -- orchard orchards: one word in lower case, and its plural');
}
if (existsSync(folder)) fail(`${folder} exists already`);

const timestamp = Math.max(Date.now(), ...migrationTimes().map((time) => time + 1));
const firstNumber = Math.max(...errorRanges().map(([, last]) => last)) + 1;
if (firstNumber > 90) fail('all ranges of error numbers are taken (src/errors/error-kind.ts)');

for (const [source, target] of files()) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, renamed(readFileSync(source, 'utf8'), source));
}
const features = readFileSync('src/features.ts', 'utf8');
writeFileSync(
  'src/features.ts',
  features
    .replace(/^(import .*\n)+/, (imports) =>
      sortedByPath(
        `${imports}import { ${many.toUpperCase()} } from './${many}/${many}.feature.js';\n`,
      ),
    )
    .replace(/\[([A-Z_,\s]+?),?\s*\]/, (_, listed) => `[${listed}, ${many.toUpperCase()}]`),
);
for (const command of [
  `npx prettier --write ${folder} test/${many} src/features.ts`,
  'npm run openapi',
  'npm run layers',
]) {
  execSync(command, { stdio: ['ignore', 'ignore', 'inherit'] });
}
process.stdout
  .write(`${folder} has a resource with the members of gardens. "npm run check" passes now.

Adapt the files in this order. CONTRIBUTING.md, "Add a resource", explains each step.
1. ${folder}/${one}.entity.ts: the members
2. ${folder}/migrations: the table. If the migration has been applied: npm run migration:revert.
   Remove the file, and its import and entry in ${folder}/${many}.feature.ts, then:
   npm run migration:generate -- Create${capital(many)} ${many}
3. ${folder}/dto/${one}.dto.ts: the descriptions and, with their conditions in
   ${folder}/${many}.service.ts, the filters of the list
4. ${folder}/${many}.errors.ts: further errors, with numbers that end in ${firstNumber} to ${firstNumber + 9}
5. ${folder}/${many}.openapi.ts: the examples
6. test/${many}/${many}.e2e.test.ts: the tests. test/resources/resources.e2e.test.ts tests each member by itself.
7. CHANGELOG.md: a line below "Added"

Then run "npm run openapi", "npm run layers" and "npm run check", and commit all files.
`);

/** The source and the target of each file to copy. */
function files() {
  const sources = readdirSync(TEMPLATE, { recursive: true }).map(String);
  const isTemplate = (name) => /^((dto\/)?gardens?\.|migrations\/.*\.ts$)/.test(name);
  return sources.filter(isTemplate).map((name) => {
    const target = renamed(name).replace(/\d{13}/, String(timestamp));
    const isTest = name.endsWith('.test.ts');
    return [join(TEMPLATE, name), isTest ? join('test', many, target) : join(folder, target)];
  });
}

function renamed(text, source = '') {
  const isTest = source.endsWith('.test.ts');
  return (
    text
      .replaceAll(/^ *\/\/ #region[\s\S]*?\/\/ #endregion\n/gm, '')
      // A test lies one level below `test`, the rest one level below `src`.
      .replaceAll(/((?:\.\.\/)+)(src|test)\//g, (_, up, root) =>
        isTest ? { src: '../../src/', test: '../' }[root] : up.slice('../'.length),
      )
      .replaceAll(/\b([Aa]) garden\b/g, (_, a) => `${a}${/^[aeiou]/.test(one) ? 'n' : ''} ${one}`)
      .replaceAll('gardens', many)
      .replaceAll('garden', one)
      .replaceAll('Gardens', capital(many))
      .replaceAll('Garden', capital(one))
      .replaceAll('GARDENS', many.toUpperCase())
      .replaceAll('GARDEN', one.toUpperCase())
      .replaceAll(/\b(4\d\d)2(\d)\b/g, (_, status, n) => `${status}${firstNumber / 10}${n}`)
      .replaceAll('[20, 29]', `[${firstNumber}, ${firstNumber + 9}]`)
      .replaceAll('1795395600000', String(timestamp))
  );
}

function migrationTimes() {
  return readdirSync('src', { recursive: true }).flatMap((name) => {
    const [, time] = /migrations\/(\d{13})-/.exec(String(name)) ?? [];
    return time === undefined ? [] : [Number(time)];
  });
}

/** The ranges of the last two digits of error numbers that are taken, also by the template. */
function errorRanges() {
  const names = readdirSync('src', { recursive: true }).map((name) => join('src', String(name)));
  const sources = [
    ...names.filter((name) => name.endsWith('errors.ts')),
    `${TEMPLATE}/gardens.errors.ts`,
  ];
  return sources.flatMap((name) => {
    const [, first, last] = /defineErrors\(\[(\d+), (\d+)\]/.exec(readFileSync(name, 'utf8')) ?? [];
    return first === undefined ? [] : [[Number(first), Number(last)]];
  });
}

function sortedByPath(lines) {
  const pathOf = (line) => line.slice(line.indexOf("'"));
  return lines
    .split(/(?<=\n)/)
    .toSorted((line, other) => (pathOf(line) < pathOf(other) ? -1 : 1))
    .join('');
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
