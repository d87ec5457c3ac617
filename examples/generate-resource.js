import { execSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Refusal, requireResourceNames } from '../packages/create-service/src/names.js';
import {
  SourceError,
  withAdditions,
  writeAll,
} from '../packages/framework/src/cli/sources/sources.js';

/*
 * `npm run generate -- orchard orchards`: copies the resource gardens in this folder under another name. Leaves out what only
 * gardens need: the lines between `#region` and `#endregion`.
 */

const TEMPLATE = 'examples/gardens';
const APP = 'src/app.module.ts';
/** The documents that list all scopes, or all tables. */
const LISTS = ['docs/sign-in.md', 'docs/tokens.md', 'docs/operations.md'];
const [one = '', many = ''] = process.argv.slice(2);
const FOLDER = `src/${many}`;

await refusing(requireNames);

const timestamp = Math.max(Date.now(), ...migrationTimes().map((time) => time + 1));
const [firstNumber, lastNumber] = freeRange();

const created = files().map(([source, file]) => ({
  file,
  text: renamed(readFileSync(source, 'utf8')),
}));
await refusing(async () => {
  const path = `./${many}/${many}.module.js`;
  const addition = { list: 'imports', name: `${capital(many)}Module`, path };
  const changed = LISTS.map((file) => ({ file, text: withNames(readFileSync(file, 'utf8')) }));
  changed.push({ file: APP, text: await withAdditions('.', APP, [addition]) });
  writeAll('.', { created, changed });
});
for (const command of [
  `npx prettier --write ${FOLDER} test/${many} ${LISTS.join(' ')}`,
  'npm run openapi',
  'npm run layers',
]) {
  execSync(command, { stdio: ['ignore', 'ignore', 'inherit'] });
}
process.stdout.write(`${FOLDER} has a resource with the members of gardens. "npm test" passes now.

Adapt the files in this order. CONTRIBUTING.md, "Add a resource", explains each step.
1. ${FOLDER}/${one}.entity.ts: the members
2. ${FOLDER}/migrations: the table. If the migration has been applied: npm run migration:revert.
   Remove the file, and its import and entry in ${FOLDER}/${many}.module.ts, then:
   npm run migration:generate -- Create${capital(many)} ${many}
3. ${FOLDER}/dto/${one}.dto.ts: the descriptions and, with their conditions in
   ${FOLDER}/${many}.repository.ts, the filters of the list
4. ${FOLDER}/${many}.errors.ts: further errors, with numbers that end in ${firstNumber} to ${lastNumber}
5. ${FOLDER}/${many}.openapi.ts: the examples
6. test/${many}/${many}.e2e.test.ts: the tests. test/resources/resources.e2e.test.ts tests each member by itself.
7. test/slow/migration-hashes.ts: the hash of the migration, which this command prints. It also writes the schema:
   npx vitest run --project slow test/slow/frozen-migrations.e2e.test.ts --update
8. CHANGELOG.md: a line below "Added"

Then run "npm run openapi", "npm run layers" and "npm run check", and commit all files.
`);

/** The source and the target of each file to copy. */
function files() {
  const sources = readdirSync(TEMPLATE, { recursive: true }).map(String);
  const isTemplate = (name) => /^((dto\/)?gardens?\.|migrations\/.*\.ts$)/.test(name);
  return sources.filter(isTemplate).map((name) => {
    const target = renamed(name).replace(/\d{13}/, String(timestamp));
    const isTest = name.endsWith('.test.ts');
    return [join(TEMPLATE, name), isTest ? join('test', many, target) : join(FOLDER, target)];
  });
}

function renamed(text) {
  return (
    text
      .replaceAll(/^ *\/\/ #region[\s\S]*?\/\/ #endregion\r?\n/gm, '')
      // The only imports from outside the folder that are left: a test lies one level below `test`.
      .replaceAll('../../test/', '../')
      .replaceAll(/\b(a)(?= garden\b)/gi, (a) => `${a}${/^[aeiou]/.test(one) ? 'n' : ''}`)
      // In one pass, because the name may contain the word.
      .replaceAll(/garden(s?)/gi, (word, plural) => inCaseOf(word, plural === '' ? one : many))
      .replaceAll(/\b(4\d\d)2(\d)\b/g, (_, status, n) => String(errorNumber(status, n)))
      .replaceAll('[20, 29]', `[${firstNumber}, ${lastNumber}]`)
      .replaceAll('1795395600000', String(timestamp))
  );
}

function inCaseOf(word, name) {
  if (word === word.toUpperCase()) return name.toUpperCase();
  return word.startsWith('G') ? capital(name) : name;
}

/** The list of scopes ends with `changes:read`. The privileges on the table are those on `plants`. */
function withNames(document) {
  const scopes = [`${many}:read`, `${many}:write`];
  const after = (mark) => scopes.map((scope) => `, ${mark}${scope}${mark}`).join('');
  return document
    .replaceAll(' and `changes:read`', (end) => `${after('`')}${end}`)
    .replaceAll(', "changes:read"', (end) => `${after('"')}${end}`)
    .replace(/^\| `plants`(, `\w+`)*/m, (tables) => `${tables}, \`${many}\``);
}

function migrationTimes() {
  return ['src', 'packages/framework/src'].flatMap(filesIn).flatMap((name) => {
    const [, time] = /migrations\/(\d{13})-/.exec(name) ?? [];
    return time === undefined ? [] : [Number(time)];
  });
}

/** The next range of error numbers: ten ends below 100, and a hundred from there on (`defineErrors`). */
function freeRange() {
  const next = Math.max(...errorRanges().map(([, last]) => last)) + 1;
  return next <= 90 ? [next, next + 9] : [Math.max(next, 100), Math.max(next, 100) + 99];
}

function errorNumber(status, n) {
  return status * (firstNumber < 100 ? 100 : 100_000) + firstNumber + Number(n);
}

/** The ranges of the ends of error numbers that are taken, also by the template. */
function errorRanges() {
  const sources = [...filesIn('src'), ...filesIn(TEMPLATE)].filter((name) =>
    name.endsWith('errors.ts'),
  );
  return sources.flatMap((name) => {
    const [, first, last] = /defineErrors\(\[(\d+), (\d+)\]/.exec(readFileSync(name, 'utf8')) ?? [];
    return first === undefined ? [] : [[Number(first), Number(last)]];
  });
}

function filesIn(root) {
  return readdirSync(root, { recursive: true }).map((name) => join(root, String(name)));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Ends the program, before it has written anything, if the resource cannot be made. */
async function refusing(task) {
  try {
    await task();
  } catch (error) {
    const isExpected = error instanceof Refusal || error instanceof SourceError;
    if (!isExpected && error.syscall === undefined) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

function requireNames() {
  if (![one, many].every((name) => /^[a-z]{2,30}$/.test(name))) {
    throw new Refusal(
      'usage: npm run generate -- orchard orchards: one word in lower case, and its plural',
    );
  }
  requireResourceNames(one, many);
  requireFree();
}

/** Also of the template: the example and the new resource are in one program when the example is tested. */
function requireFree() {
  const taken = [...filesIn('src'), ...filesIn(TEMPLATE)].find(
    (file) => basename(file) === `${one}.entity.ts`,
  );
  if (taken !== undefined) throw new Refusal(`${taken} exists already`);
  for (const folder of [FOLDER, `test/${many}`]) {
    if (existsSync(folder)) throw new Refusal(`${folder} exists already`);
  }
  const { paths } = JSON.parse(readFileSync(`${TEMPLATE}/openapi.json`, 'utf8'));
  const path = Object.keys(paths).find((each) => each.split('/')[1] === many);
  if (path !== undefined) throw new Refusal(`the service has the path ${path} already`);
}
