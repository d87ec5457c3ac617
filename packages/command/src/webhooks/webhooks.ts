import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { stringify } from 'lossless-json';
import { CommandError, EXIT } from '../command-error.js';
import { listenHelp, webhooksHelp } from '../help.js';
import { int64 } from '../options.js';
import type { Webhooks } from '../resources.js';
import type { Run } from '../run.js';
import { tableOf } from '../table.js';
import type { ListenOptions } from './listen.js';
import type { Delivery, Item, NewWebhook, Secret } from './webhook-requests.js';

const COLUMNS = {
  webhooks: ['id', 'url', 'kinds', 'resources', 'pausedReason', 'failingSince'],
  deliveries: ['id', 'time', 'type', 'messageId', 'outcome', 'status', 'reason'],
} as const;

const STARTS = ['stopped', 'oldest', 'newest'] as const;

interface JsonOption {
  readonly json?: boolean | undefined;
}

/** `true`: all. */
type Chosen = readonly string[] | true;

interface UpdateOptions extends JsonOption {
  readonly url?: string;
  readonly kinds?: Chosen;
  readonly resources?: Chosen;
}

interface ResumeOptions extends JsonOption {
  readonly from: (typeof STARTS)[number];
}

export function addWebhookCommands(program: Command, run: Run): void {
  const { service, terminal, signal, connection, end } = run;
  if (service.webhooks === undefined) return;
  const { stdout, stderr } = terminal;
  const say = (text: string) => void stderr.write(`${text}\n`);
  const requests = async () => {
    const { WebhookRequests } = await import('./webhook-requests.js');
    return new WebhookRequests(await connection(), signal, say);
  };
  const write = (found: unknown, text: string, { json }: JsonOption) =>
    void stdout.write(json ? `${stringify(found, undefined, 2)}\n` : text);
  const writeSecret = (made: Secret, text: string, options: JsonOption) => {
    write(made, `${made.secret}\n`, options);
    say(`${text} ${made.id}`);
    say('its secret is shown only now');
  };
  const report = async (delivery: Delivery, options: JsonOption) => {
    const { problemOf } = await import('./webhook-requests.js');
    write(delivery, '', options);
    const problem = problemOf(delivery);
    if (problem !== undefined) throw new CommandError(EXIT.incomplete, problem);
    say('the message was delivered');
  };

  const webhooks = program
    .command('webhooks')
    .description('Manage the addresses that the service sends changes to.')
    .addHelpText('afterAll', webhooksHelp(service))
    .hook('postAction', () => end(EXIT.done));
  const add = (name: string, description: string) =>
    webhooks.command(name).description(description).option('--json', 'as JSON');

  add('list', 'List all webhooks.').action(async (options: JsonOption) => {
    const found = await (await requests()).list();
    write(found, listOf(found, COLUMNS.webhooks), options);
  });

  const create = add('create', 'Create a webhook, and write its secret.')
    .argument('<url>', 'address that gets the messages')
    .action(async (url: string, { json, ...chosen }: Omit<NewWebhook, 'url'> & JsonOption) => {
      const made = await (await requests()).create({ url, ...chosen });
      writeSecret(made, 'created the webhook', { json });
    });
  for (const choice of choicesOf(service.webhooks)) create.addOption(choice);

  const addForOne = (name: string, description: string) =>
    add(name, description).argument('<id>', 'id of the webhook');

  addForOne('show', 'Show a webhook.').action(async (id: string, options: JsonOption) => {
    const found = await (await requests()).find(id);
    const rows = Object.entries(found).map(([name, value]) => [name, cellOf(value)]);
    write(found, tableOf(rows), options);
  });

  const update = addForOne('update', 'Change the fields of a webhook that are given.')
    .option('--url <url>', 'address that gets the messages')
    .action(async (id: string, { json, url, ...chosen }: UpdateOptions) => {
      const kinds = listed(chosen.kinds);
      const resources = listed(chosen.resources);
      write(await (await requests()).update(id, { url, kinds, resources }), '', { json });
      say(`updated the webhook ${id}`);
    });
  for (const choice of choicesOf(service.webhooks, 'update')) update.addOption(choice);

  addForOne('test', 'Send a test message, and tell what came back.').action(
    async (id: string, options: JsonOption) => report(await (await requests()).test(id), options),
  );

  addForOne('deliveries', 'List the last deliveries of a webhook, the newest first.').action(
    async (id: string, options: JsonOption) => {
      const found = await (await requests()).deliveries(id);
      write(found, listOf(found, COLUMNS.deliveries), options);
    },
  );

  addForOne('resend', 'Send the message of a delivery again, and tell what came back.')
    .argument('<delivery>', 'id of the delivery', int64)
    .action(async (id: string, delivery: bigint, options: JsonOption) =>
      report(await (await requests()).resend(id, delivery), options),
    );

  addForOne('resume', 'Go on with a webhook that is paused, or fails.')
    .addOption(
      new Option('--from <change>', 'which change is sent first')
        .choices(STARTS)
        .default('stopped'),
    )
    .action(async (id: string, { from, ...options }: ResumeOptions) => {
      write(await (await requests()).resume(id, from), '', options);
      say(`resumed the webhook ${id}`);
    });

  addForOne('rotate-secret', 'Replace the secret of a webhook. For a day, both sign.').action(
    async (id: string, options: JsonOption) => {
      const made = await (await requests()).rotateSecret(id);
      writeSecret(made, 'replaced the secret of the webhook', options);
    },
  );

  webhooks
    .command('remove')
    .description('Remove a webhook.')
    .argument('<id>', 'id of the webhook')
    .action(async (id: string) => {
      await (await requests()).remove(id);
      say(`removed the webhook ${id}`);
    });
}

export function addListenCommand(
  program: Command,
  { service, terminal, signal, connection, end }: Run,
): void {
  if (service.webhooks === undefined) return;
  const command = program
    .command('listen')
    .description('Write the messages of a webhook to standard output, until a signal ends it.')
    .option('--forward-to <url>', 'send each message to this address, too', httpUrl);
  for (const choice of choicesOf(service.webhooks)) command.addOption(choice);
  command.addHelpText('after', listenHelp(service)).action(async (options: ListenOptions) => {
    const { listen } = await import('./listen.js');
    end(await listen(options, await connection(), terminal, signal));
  });
}

/** For an update, which keeps what is not given, an option without a value chooses all. */
function choicesOf({ kinds, resources }: Webhooks, task?: 'update'): readonly Option[] {
  const value = (name: string) => (task === 'update' ? `[${name}...]` : `<${name}...>`);
  const all = task === 'update' ? 'all without a value' : 'default: all';
  return [
    new Option(`--kinds ${value('kind')}`, `only these changes (${all})`).choices(kinds),
    new Option(`--resources ${value('resource')}`, `only of these (${all})`).choices(resources),
  ];
}

function listed(chosen: Chosen | undefined): readonly string[] | undefined {
  return chosen === true ? [] : chosen;
}

function listOf(items: readonly Item[], columns: readonly string[]): string {
  const rows = items.map((item) => columns.map((name) => cellOf(item[name])));
  const header = columns.map((name) => name.replaceAll(/[A-Z]/g, ' $&').toUpperCase());
  return tableOf([header, ...rows]);
}

/** Control characters could change what a terminal shows. */
function cellOf(value: unknown = '-'): string {
  if (Array.isArray(value)) return cellOf(value.join(' ') || 'all');
  const text = typeof value === 'string' ? value : stringify(value)!;
  return text.replaceAll(/\p{C}/gu, '?');
}

function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new InvalidArgumentError('It must be an http or https URL.');
}
