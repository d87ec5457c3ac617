import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  UsageError,
  capital,
  reportingErrors,
  requireResourceNames,
} from '../packages/create-service/src/names.js';
import {
  entityIn,
  filesIn,
  format,
  renamingFor,
  writeResource,
} from '../packages/create-service/src/resource.js';
import { npm } from '../packages/create-service/src/service.js';
import * as sources from '../packages/framework/src/cli/sources/sources.js';

/*
 * `npm run generate -- orchard orchards`: `create-service resource` with the resource gardens in this folder for a template. Leaves out
 * what only gardens need: the lines between `#region` and `#endregion`.
 */

const ROOT = process.cwd();
const TEMPLATE = 'examples/gardens';
/** The documents that list all scopes, or all tables. */
const LISTS = ['docs/sign-in.md', 'docs/tokens.md', 'docs/operations.md'];
const [one = '', many = ''] = process.argv.slice(2);
const FOLDER = `src/${many}`;

await reportingErrors(async () => {
  requireNames();
  // Also of the template: the example and the new resource are in one program when the example is tested.
  const others = ['src', TEMPLATE].flatMap(filesIn);
  requireFree(others);
  const template = { times: ['1795395600000'], noun: '(garden)()()' };
  const all = [...others, ...filesIn('packages/framework/src')];
  const rename = renamingFor(template, all, one, many);
  const created = filesIn(TEMPLATE)
    .map((file) => relative(TEMPLATE, file).replaceAll('\\', '/'))
    .filter((name) => /^((dto\/)?gardens?\.|migrations\/.*\.ts$)/.test(name))
    .map((name) => ({
      file: join(name.endsWith('.test.ts') ? `test/${many}` : FOLDER, rename.names(name)),
      text: rename.text(withoutPlants(readFileSync(join(TEMPLATE, name), 'utf8'))),
    }));
  const changed = LISTS.map((file) => ({ file, text: withNames(readFileSync(file, 'utf8')) }));
  await writeResource(sources, ROOT, [many], created, () => Promise.resolve(changed));
  format(ROOT, FOLDER, `test/${many}`, ...LISTS);
  for (const script of ['openapi', 'layers']) {
    if (!npm(ROOT, 'run', script)) throw new UsageError(`"npm run ${script}" has failed`);
  }
  process.stdout.write(nextSteps(rename.range));
});

/** The only imports from outside the folder that are left: a test lies one level below `test`. */
function withoutPlants(text) {
  return text
    .replaceAll(/^ *\/\/ #region[\s\S]*?\/\/ #endregion\r?\n/gm, '')
    .replaceAll('../../test/', '../');
}

/** After the scopes of resources, `changes:read` follows. The privileges on the table are those on `plants`. */
function withNames(document) {
  const scopes = [`${many}:read`, `${many}:write`];
  const after = (mark) => scopes.map((scope) => `, ${mark}${scope}${mark}`).join('');
  return document
    .replaceAll(', `changes:read`', (end) => `${after('`')}${end}`)
    .replaceAll(', "changes:read"', (end) => `${after('"')}${end}`)
    .replace(/^\| `plants`(, `\w+`)*/m, (tables) => `${tables}, \`${many}\``);
}

function requireNames() {
  if (![one, many].every((name) => /^[a-z]{2,30}$/.test(name))) {
    throw new UsageError(
      'usage: npm run generate -- orchard orchards: one word in lower case, and its plural',
    );
  }
  requireResourceNames(one, many);
}

function requireFree(files) {
  const existing =
    entityIn(files, one) ?? [FOLDER, `test/${many}`].find((path) => existsSync(path));
  if (existing !== undefined) throw new UsageError(`${existing} exists already`);
  const { paths } = JSON.parse(readFileSync(`${TEMPLATE}/openapi.json`, 'utf8'));
  const path = Object.keys(paths).find((each) => each.split('/')[1] === many);
  if (path !== undefined) throw new UsageError(`the service has the path ${path} already`);
}

function nextSteps([firstNumber, lastNumber]) {
  return `${FOLDER} has a resource with the properties of gardens. "npm test" passes now.

Adapt the files in this order. CONTRIBUTING.md, "Add a resource", explains each step.
1. ${FOLDER}/${one}.entity.ts: the properties
2. ${FOLDER}/migrations: the table. If the migration has been applied: npm run migration:revert.
   Remove the file, and its import and entry in ${FOLDER}/${many}.module.ts, then:
   npm run migration:generate -- Create${capital(many)} ${many}
3. ${FOLDER}/dto/${one}.dto.ts: the descriptions and, with their conditions in
   ${FOLDER}/${many}.repository.ts, the filters of the list
4. ${FOLDER}/${many}.errors.ts: further errors, with numbers that end in ${firstNumber} to ${lastNumber}
5. ${FOLDER}/${many}.examples.ts: the examples of requests
6. test/${many}/${many}.e2e.test.ts: the tests. test/resources/resources.e2e.test.ts tests each property by itself.
7. test/slow/migration-hashes.ts: the hash of the migration, which this command prints. It also writes the schema:
   npx vitest run --project slow test/slow/frozen-migrations.e2e.test.ts --update
8. CHANGELOG.md: a line below "Added"

Then run "npm run openapi", "npm run layers" and "npm run check", and commit all files.
`;
}
