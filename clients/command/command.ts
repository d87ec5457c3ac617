import { parseArgs } from 'node:util';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { IDENTITY } from '../../src/identity.js';
import { EXIT, exitCodeOf, explain } from './command-error.js';
import type { ChangesOptions } from './changes.js';
import { readConnection } from './connection.js';
import type { ExportOptions } from './export.js';
import { FORMATS } from './formats.js';
import type { ImportOptions } from './import.js';
import { RESOURCES } from './resources.js';
import type { Filter, Resource } from './resources.js';
import { LIMITS } from './retries.js';
import type { Terminal } from './terminal.js';
import { addTokenCommands } from './token.js';

const ENVIRONMENT = `
Environment:
  PLANT_STORE_URL         address of the service, such as https://shop.example.com/api
  PLANT_STORE_TOKEN       token for the service, or:
  PLANT_STORE_TOKEN_FILE  file with the token, read again for each request
  NODE_EXTRA_CA_CERTS     file with a private certificate authority
In a container of the service, its own address and token are the default.`;

const EXIT_CODES = `
Exit codes:
  0    done
  1    records were refused
  2    wrong arguments, environment variables or files; nothing was sent
  3    incomplete: the service or a file failed
  130  interrupted by Ctrl-C; after another signal, 128 and its number
  141  the reader of standard output, such as head, ended before it`;

const DEFAULT_RESOURCE = 'plants';

const LIST = new Intl.ListFormat('en');

function importHelp({ name, columns, example }: Resource): string {
  return `
FILE is NDJSON, with one record per line such as ${example},
or CSV with the header line ${columns.map((column) => column.name).join()}.
In CSV, an empty field without quotes is absent, and "" is the empty text.

A record that the service refuses does not stop the import. All of them go to a file, as they are in FILE, to be
mended and imported. --errors saves why, in the same order. If a file exists, a number is added to its name.

Requests that fail are repeated, until none has succeeded for 2 minutes, or 5 seconds before the first connection.
An import that failed can be run again: what is stored with the same content counts as unchanged.
If two records have the same id and different content, either may be stored, because several requests run at a time.
${ENVIRONMENT}
${EXIT_CODES}

Examples:
  plant-store import${selection(name)} ${name}.csv
  plant-store import${selection(name)} ${name}-1.ndjson ${name}-2.ndjson
  gunzip -c ${name}.csv.gz | plant-store import${selection(name)} --format csv -`;
}

function exportHelp({ name }: Resource): string {
  return `
Records come in ascending order of their ids. If the connection breaks, the export continues after the last one.
${ENVIRONMENT}
${EXIT_CODES}

Examples:
  plant-store export${selection(name)} --output ${name}.csv
  plant-store export${selection(name)} | gzip > ${name}.ndjson.gz`;
}

const CHANGES_HELP = `
Each line is a change in JSON, the oldest first. If the connection breaks, the command continues after the last one.
If it cannot, or is interrupted, it prints what to run to continue.
${ENVIRONMENT}
${EXIT_CODES}

Examples:
  plant-store changes --plant 7
  plant-store changes --follow --after 0 >> changes.ndjson`;

function selection(resource: string): string {
  return resource === DEFAULT_RESOURCE ? '' : ` --resource ${resource}`;
}

/**
 * Runs `plant-store`.
 *
 * @param signal aborted with the name of a signal of the process
 * @returns the exit code
 */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
  limits = LIMITS,
): Promise<number> {
  const { env, stdout, stderr } = terminal;
  let code: number = EXIT.usage;
  const connection = () => readConnection(env, limits);
  const resource = resourceIn(args);
  const names = RESOURCES.map(({ name }) => name);
  const program = new Command('plant-store')
    .description(
      `Import and export the ${LIST.format(names)} of a plant store, and follow changes, over HTTP.`,
    )
    .version(IDENTITY.build.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .addHelpText('after', `${ENVIRONMENT}\n\nplant-store help COMMAND explains a command.`);
  const choice = new Option('--resource <resource>', 'what to import or export')
    .choices(names)
    .default(DEFAULT_RESOURCE);
  const format = new Option('--format <format>', 'format, unless the extension tells it').choices(
    FORMATS,
  );
  program
    .command('import')
    .description(`Import ${resource.name} from files.`)
    .argument('<file...>', 'files to import; - is standard input, NDJSON by default')
    .addOption(choice)
    .addOption(format)
    .option('--concurrency <number>', 'requests at a time, 1 to 16', concurrency, 4)
    .option(
      '--refused <file>',
      'file for the refused records (default: NAME.refused.EXTENSION in the current folder)',
    )
    .option('--errors <file>', 'file for the reasons: NDJSON or CSV, as its extension tells')
    .option('--unescape-formulas', 'in CSV, remove the apostrophes of export --escape-formulas')
    .addHelpText('after', importHelp(resource))
    .action(async (files: string[], given: Omit<ImportOptions, 'resource'>) => {
      const { importFiles } = await import('./import.js');
      const options = { ...given, resource };
      code = await importFiles(files, options, await connection(), terminal, signal, limits);
    });
  const exporting = program
    .command('export')
    .description(`Export ${resource.name} to a file or to standard output.`)
    .addOption(choice);
  const filters = new URLSearchParams();
  for (const filter of resource.filters) exporting.addOption(filterOption(filter, filters));
  exporting
    .addOption(format)
    .option(
      '--output <file>',
      'file to write when the export is complete; - is standard output',
      '-',
    )
    .option('--escape-formulas', 'in CSV, put an apostrophe before what a spreadsheet would run')
    .addHelpText('after', exportHelp(resource))
    .action(async (given: Omit<ExportOptions, 'resource' | 'filters'>) => {
      const { exportRecords } = await import('./export.js');
      const options = { ...given, resource, filters };
      code = await exportRecords(options, await connection(), terminal, signal, limits);
    });
  program
    .command('changes')
    .description('Write the recorded changes of plants to standard output, as NDJSON.')
    .option('--follow', 'go on with the changes that come')
    .option('--after <position>', 'begin after this position (default: with the oldest)', int64)
    .option('--plant <id>', 'only changes of this plant', int64)
    .addHelpText('after', CHANGES_HELP)
    .action(async (options: ChangesOptions) => {
      const { writeChanges } = await import('./changes.js');
      code = await writeChanges(options, await connection(), terminal, signal, limits);
    });
  addTokenCommands(program, terminal, signal, () => (code = EXIT.done));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    code = exitCodeOf(error, signal);
    const text = explain(error, signal);
    if (text !== '') stderr.write(`${text}\n`);
  }
  return code;
}

/** The resource that `--resource` names. It is looked for before all else, because the options of an export depend on it. */
function resourceIn(args: readonly string[]): Resource {
  const { values } = parseArgs({
    args: [...args],
    options: { resource: { type: 'string', default: DEFAULT_RESOURCE } },
    strict: false,
  });
  const find = (wanted: unknown) => RESOURCES.find(({ name }) => name === wanted);
  // Commander refuses a name that is unknown.
  return find(values.resource) ?? find(DEFAULT_RESOURCE)!;
}

/** `--plant-id <integer>` for the query parameter `plantId`. */
function filterOption({ name, type, description }: Filter, filters: URLSearchParams): Option {
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const [sentence = ''] = description.split(/\.(?: |$)/);
  const help = sentence.charAt(0).toLowerCase() + sentence.slice(1);
  return new Option(`--${flag} <${type}>`, help).argParser((value) => filters.set(name, value));
}

function concurrency(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 16) return number;
  throw new InvalidArgumentError('It must be an integer, 1 to 16.');
}

function int64(text: string): bigint {
  const number = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  throw new InvalidArgumentError('It must be a 64-bit integer.');
}
