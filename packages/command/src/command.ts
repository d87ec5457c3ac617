import { Argument, Command, CommanderError, Option } from 'commander';
import { EXIT, exitCodeOf, explain } from './command-error.js';
import type { ChangesOptions } from './changes.js';
import { completionScript, SHELLS } from './completion.js';
import type { Shell } from './completion.js';
import { readConnection } from './connection/connection.js';
import type { ExportOptions } from './export.js';
import { FORMATS } from './formats.js';
import { changesHelp, environmentHelp, exportHelp, importHelp } from './help.js';
import type { ImportOptions } from './import.js';
import {
  chosenIn,
  columnNames,
  concurrency,
  filterOption,
  int64,
  optionOf,
  separator,
} from './options.js';
import type { Resource } from './resources.js';
import type { Run } from './run.js';
import { LIMITS } from './connection/limits.js';
import { oneOf } from './service.js';
import type { Service } from './service.js';
import type { Terminal } from './terminal.js';
import { addTokenCommands } from './tokens/token.js';
import { addListenCommand, addWebhookCommands } from './webhooks/webhooks.js';

const LIST = new Intl.ListFormat('en');

/** Returns the exit code. The signal is aborted with the name of a signal of the process. */
export async function run(
  service: Service,
  args: readonly string[],
  terminal: Terminal,
  signal: AbortSignal,
  limits = LIMITS,
): Promise<number> {
  const { env, stdout, stderr } = terminal;
  const { identity } = service;
  let code: number = EXIT.usage;
  const program = new Command(identity.name)
    .description(`The command of ${oneOf(identity)}: ${LIST.format(tasksOf(service))}.`)
    .version(identity.build.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(text),
    })
    .addHelpText(
      'after',
      `${environmentHelp(service)}\n\n${identity.name} help COMMAND explains a command.`,
    );
  const end = (exitCode: number) => void (code = exitCode);
  const connection = () => readConnection(service, env, limits);
  const given: Run = { service, args, terminal, signal, connection, end };
  addImportCommand(program, given);
  addExportCommand(program, given);
  addChangesCommand(program, given);
  addWebhookCommands(program, given);
  addListenCommand(program, given);
  addCompletionCommand(program, given);
  addTokenCommands(program, service, terminal, signal, () => end(EXIT.done));
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    code = exitCodeOf(error, signal);
    const text = explain(error, signal, identity.name);
    if (text !== '') stderr.write(`${text}\n`);
  }
  return code;
}

function tasksOf({ resources, feeds, webhooks }: Service): readonly string[] {
  const namesOf = (some: readonly Resource[]) => LIST.format(some.map(({ name }) => name));
  const imported = resources.filter(({ isImportable }) => isImportable);
  const exported = resources.filter(({ isImportable }) => !isImportable);
  return [
    ...(imported.length > 0 ? [`import and export ${namesOf(imported)}`] : []),
    ...(exported.length > 0 ? [`export ${namesOf(exported)}`] : []),
    ...(feeds.length > 0 ? ['follow changes'] : []),
    ...(webhooks === undefined ? [] : ['manage webhooks']),
    'issue tokens',
  ];
}

function resourceOption(resources: readonly Resource[], byDefault: Resource): Option {
  return new Option('--resource <resource>', 'what to import or export')
    .choices(resources.map(({ name }) => name))
    .default(byDefault.name);
}

function formatOption(): Option {
  return new Option('--format <format>', 'format, unless the extension tells it').choices(FORMATS);
}

function addCompletionCommand(program: Command, { terminal, end }: Run): void {
  const name = program.name();
  program
    .command('completion')
    .description('Write a script that completes commands and options in a shell.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  ${name} completion bash >> ~/.bashrc
  ${name} completion zsh >> ~/.zshrc
  ${name} completion fish > ~/.config/fish/completions/${name}.fish`,
    )
    .action((shell: Shell) => {
      terminal.stdout.write(completionScript(program, shell));
      end(EXIT.done);
    });
}

function addImportCommand(
  program: Command,
  { service, args, terminal, signal, connection, end }: Run,
): void {
  const resources = service.resources.filter(({ isImportable }) => isImportable);
  const byDefault = resources.find((each) => each === service.defaultResource) ?? resources[0];
  if (byDefault === undefined) return;
  const resource = chosenIn(args, 'resource', resources, byDefault);
  program
    .command('import')
    .description(`Import ${resource.name} from files.`)
    .argument('<file...>', 'files to import; - is standard input, NDJSON by default')
    .addOption(resourceOption(resources, byDefault))
    .addOption(formatOption())
    .option('--concurrency <number>', 'requests at a time, 1 to 16', concurrency, 4)
    .option(
      '--refused <file>',
      'file for the refused records (default: NAME.refused.EXTENSION in the current folder)',
    )
    .option('--errors <file>', 'file for the reasons: NDJSON or CSV, as its extension tells')
    .option(
      '--map <theirs=name>',
      'in CSV, what the file calls a column; theirs= ignores a column; can be repeated',
      columnNames(resource.columns),
    )
    .option(
      '--separator <character>',
      'in CSV, what is between columns, or tab (default: as in the header line)',
      separator,
    )
    .option('--json', 'the summary as JSON')
    .option('--unescape-formulas', 'in CSV, remove the apostrophes of export --escape-formulas')
    .addHelpText('after', importHelp(service, resource, byDefault))
    .action(async (files: string[], given: Omit<ImportOptions, 'resource'>) => {
      const { importFiles } = await import('./import.js');
      const options = { ...given, resource };
      end(await importFiles(files, options, await connection(), terminal, signal));
    });
}

function addExportCommand(
  program: Command,
  { service, args, terminal, signal, connection, end }: Run,
): void {
  const { resources, defaultResource } = service;
  if (defaultResource === undefined) return;
  const resource = chosenIn(args, 'resource', resources, defaultResource);
  const exporting = program
    .command('export')
    .description(`Export ${resource.name} to a file or to standard output.`)
    .addOption(resourceOption(resources, defaultResource));
  const filters = new URLSearchParams();
  for (const filter of resource.filters) exporting.addOption(filterOption(filter, filters));
  exporting
    .addOption(formatOption())
    .option(
      '--output <file>',
      'file to write when the export is complete; - is standard output',
      '-',
    )
    .option('--overwrite', 'replace the file of --output if it exists')
    .option('--escape-formulas', 'in CSV, put an apostrophe before what a spreadsheet would run')
    .option('--json', 'with --output, the summary as JSON')
    .addHelpText('after', exportHelp(service, resource))
    .action(async (given: Omit<ExportOptions, 'resource' | 'filters'>) => {
      const { exportRecords } = await import('./export.js');
      const options = { ...given, resource, filters };
      end(await exportRecords(options, await connection(), terminal, signal));
    });
}

function addChangesCommand(
  program: Command,
  { service, args, terminal, signal, connection, end }: Run,
): void {
  const { feeds } = service;
  const [defaultFeed] = feeds;
  if (defaultFeed === undefined) return;
  const feed = chosenIn(args, 'feed', feeds, defaultFeed);
  const { selection } = feed;
  const changes = program
    .command('changes')
    .description('Write the recorded changes to standard output, as NDJSON.')
    .option('--follow', 'go on with the changes that come')
    .option('--after <position>', 'begin after this position (default: with the oldest)', int64)
    .option('--accept-gap <position>', 'go on past changes without a record up to here', int64);
  if (feeds.length > 1) {
    const names = feeds.map(({ name }) => name);
    const choice = new Option('--feed <feed>', 'which changes');
    changes.addOption(choice.choices(names).default(defaultFeed.name));
  }
  let selected: string | undefined;
  if (selection !== undefined) {
    const { name, type } = selection;
    const option = new Option(`--${optionOf(name)} <id>`, `only changes of this ${name}`);
    changes.addOption(
      option.argParser((text) => (selected = String(type === 'integer' ? int64(text) : text))),
    );
  }
  changes
    .addHelpText('after', changesHelp(service, feed))
    .action(async (given: Pick<ChangesOptions, 'follow' | 'after' | 'acceptGap'>) => {
      const { writeChanges } = await import('./changes.js');
      const options = { ...given, feed, selected };
      end(await writeChanges(options, await connection(), terminal, signal));
    });
}
