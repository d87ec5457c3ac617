import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { BUILD } from '../../src/observability/build.js';
import { EXIT, exitCodeOf, explain } from './command-error.js';
import { readConnection } from './connection.js';
import type { ExportOptions } from './export.js';
import { FORMATS } from './formats.js';
import type { ImportOptions } from './import.js';
import { LIMITS } from './retries.js';
import type { Terminal } from './terminal.js';

const ENVIRONMENT = `
Environment:
  PLANT_STORE_URL         address of the service, such as https://shop.example.com/api
  PLANT_STORE_TOKEN       token for the service, or:
  PLANT_STORE_TOKEN_FILE  file with the token, read again for each request
  NODE_EXTRA_CA_CERTS     file with a private certificate authority`;

const EXIT_CODES = `
Exit codes:
  0    done
  1    records were refused
  2    wrong arguments or environment variables; nothing was sent
  3    incomplete: the service or a file failed
  130  interrupted by Ctrl-C; after another signal, 128 and its number
  141  the reader of an export, such as head, ended before it`;

const IMPORT_HELP = `
FILE is NDJSON, one {"id":1,"name":"Monstera","tag":"indoor"} per line, or CSV with the header line id,name,tag.
In CSV, an empty tag without quotes is no tag, and "" is an empty tag.

A record that the service refuses does not stop the import. All of them go to a file, as they are in FILE, to be
mended and imported. If this file exists, a number is added to its name.

Requests that fail are repeated, until none has succeeded for 2 minutes. An import that failed can be run again: a
plant that is stored with the same content counts as unchanged. If two records have the same id and different content,
either may be stored, because several requests run at a time.
${ENVIRONMENT}
${EXIT_CODES}

Examples:
  plant-store import plants.csv
  plant-store import plants-1.ndjson plants-2.ndjson
  gunzip -c plants.csv.gz | plant-store import --format csv -`;

const EXPORT_HELP = `
Plants come in ascending order of their ids. If the connection breaks, the export continues after the last plant.
${ENVIRONMENT}
${EXIT_CODES}

Examples:
  plant-store export --output plants.csv
  plant-store export --tag indoor | gzip > indoor.ndjson.gz`;

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
  const connection = () => readConnection(env, limits.idle);
  const program = new Command('plant-store')
    .description('Import and export the plants of a plant store, over HTTP.')
    .version(BUILD.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .addHelpText('after', `${ENVIRONMENT}\n\nplant-store help COMMAND explains a command.`);
  const format = new Option('--format <format>', 'format, unless the extension tells it').choices(
    FORMATS,
  );
  program
    .command('import')
    .description('Import plants from files.')
    .argument('<file...>', 'files to import; - is standard input, NDJSON by default')
    .addOption(format)
    .option('--concurrency <number>', 'requests at a time, 1 to 16', concurrency, 4)
    .option(
      '--refused <file>',
      'file for the refused records (default: NAME.refused.EXTENSION in the current folder)',
    )
    .addHelpText('after', IMPORT_HELP)
    .action(async (files: string[], options: ImportOptions) => {
      const { importFiles } = await import('./import.js');
      code = await importFiles(files, options, await connection(), terminal, signal, limits);
    });
  program
    .command('export')
    .description('Export plants to a file or to standard output.')
    .option('--tag <tag>', 'only plants with this tag')
    .option('--name <text>', 'only plants whose name contains this text, at least 3 characters')
    .addOption(format)
    .option(
      '--output <file>',
      'file to write when the export is complete; - is standard output',
      '-',
    )
    .addHelpText('after', EXPORT_HELP)
    .action(async (options: ExportOptions) => {
      const { exportPlants } = await import('./export.js');
      code = await exportPlants(options, await connection(), terminal, signal, limits);
    });
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

function concurrency(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 16) return number;
  throw new InvalidArgumentError('It must be an integer, 1 to 16.');
}
