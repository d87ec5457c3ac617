import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError, requireResourceNames, withResourceNames } from './names.js';
import {
  format,
  frameworkSources,
  requireChanges,
  requireFree,
  templateFiles,
  templateText,
  writeResource,
} from './resource.js';
import { npm } from './service.js';

const ENTITY = 'src/sample-items/sample-item.entity.ts';
const REPOSITORY = 'src/sample-items/sample-items.repository.ts';

/** What a record needs of a resource that `create-service` made: files of the template, and a name that each of them has. */
const PARTS = {
  [ENTITY]: 'SampleItem',
  [REPOSITORY]: 'SampleItemsRepository',
  'src/sample-items/sample-items.module.ts': 'SampleItemsModule',
  'src/sample-items/sample-items.examples.ts': 'SAMPLE_ITEM_EXAMPLES',
  'src/sample-items/dto/sample-item.dto.ts': 'StoredSampleItemDto',
};

/** The problem of a repository that shows only some rows. */
const LIMITED = 'limits the rows that a principal sees';

/**
 * Adds the record of changes to a resource that has none: the folder of the record, its test, its module in `app.module.ts`, and the
 * option of the repository. Writes all of them or nothing. Then generates the migration, whose columns are those of the entity. If the
 * repository has `visible`, there is no feed, because it would have the changes of all rows, and no test of it.
 *
 * @param root the folder of the service
 */
export async function addChanges(root, one, many) {
  requireResourceNames(one, many);
  requireChanges(root);
  const named = (text) => withResourceNames(text, one, many);
  for (const [file, name] of Object.entries(PARTS)) requirePart(root, named(file), named(name));
  const sources = await frameworkSources(root);
  const repository = named(REPOSITORY);
  const hasFeed = !(await isLimited(sources, root, repository, option(named)));
  const created = templateFiles()
    .filter((name) => name.includes('sample-item-change') && !name.includes('/migrations/'))
    .filter((name) => hasFeed || !name.startsWith('test/'))
    .map((name) => {
      const text = withoutMigration(templateText(name, true));
      return { file: named(name), text: named(hasFeed ? text : withoutFeed(text)) };
    });
  const folder = `${one}-changes`;
  requireFree(root, `${one}-change`, [`src/${folder}`, ...created.map(({ file }) => file)]);
  await writeResource(sources, root, [folder], created, async () => [
    { file: repository, text: await sources.withRepositoryOption(root, repository, option(named)) },
  ]);
  format(root, ...created.map(({ file }) => file));
  const generate = [
    'run',
    '--silent',
    'migration:generate',
    '--',
    named('CreateSampleItemChanges'),
    folder,
  ];
  if (!npm(root, ...generate)) {
    throw new UsageError(
      `src/${folder} lacks its migration: stop the service if it runs here, and run "npm run migration:generate -- ${generate.slice(-2).join(' ')}"`,
    );
  }
  const withoutOne = `The repository has "visible", so there is no feed of all changes (docs/framework/changes.md, "The feed").\n`;
  process.stdout
    .write(`src/${folder} has the record of changes of ${many}, and ${repository} writes it.
${hasFeed ? '' : withoutOne}`);
}

/** Whether the repository has `visible`. */
async function isLimited(sources, root, repository, given) {
  try {
    const conflicts = { visible: LIMITED };
    await sources.withRepositoryOption(root, repository, { ...given, conflicts });
  } catch (error) {
    // Any other problem is found again when the option is added.
    return error.message.endsWith(LIMITED);
  }
  return false;
}

/** The module of a record that nothing publishes. */
function withoutFeed(text) {
  const imports = 'FeedModule|StoredSampleItemDto|SampleItemsModule|SampleItemsRepository';
  return text
    .replaceAll(new RegExp(`^import \\{ (${imports}) \\}.*\n`, 'gm'), '')
    .replace(/ {4}FeedModule\.forFeature\(\{[^]*?\n {4}\}\),\n/, '');
}

/** @throws UsageError */
function requirePart(root, file, name) {
  const path = join(root, file);
  const hasName = existsSync(path) && readFileSync(path, 'utf8').includes(name);
  if (hasName) return;
  throw new UsageError(
    `${file} has no ${name}: add the record by hand (docs/framework/changes.md)`,
  );
}

/** Until it is generated. */
function withoutMigration(text) {
  return text
    .replace(/import \{ CreateSampleItemChanges\d+ \}.*\n/, '')
    .replace(/(?<=migrations: \[)\w+/, '');
}

function option(named) {
  return {
    name: 'changes',
    value: named("recordChanges(SampleItemChange, 'sampleItem')"),
    type: { name: 'Feed', path: '@resource-service/changes', isType: true },
    imports: [
      { name: 'recordChanges', path: '@resource-service/changes' },
      {
        name: named('SampleItemChange'),
        path: named('../sample-item-changes/sample-item-change.entity.js'),
      },
    ],
    conflicts: { changes: 'records its changes already' },
  };
}
