import { columnsText } from './csv/csv-header.js';
import { optionOf } from './options.js';
import type { Feed, Resource } from './resources.js';
import type { Service } from './service.js';

const EXIT_CODES = `
Exit codes:
  0    done
  1    records were refused
  2    wrong arguments, environment variables or files; nothing was done
  3    incomplete: the service or a file failed
  130  interrupted by Ctrl-C; after another signal, 128 and its number
  141  the reader of standard output, such as head, ended before it`;

export function environmentHelp({ variables }: Service): string {
  const lines = [
    [variables.url, 'address of the service, such as https://shop.example.com/api'],
    [variables.token, 'token for the service, or:'],
    [variables.tokenFile, 'file with the token, read again for each request'],
    ['NODE_EXTRA_CA_CERTS', 'file with a private certificate authority'],
    ['NODE_USE_ENV_PROXY', '1: connect through the proxy of HTTPS_PROXY'],
  ] as const;
  const width = Math.max(...lines.map(([name]) => name.length));
  return `
Environment:
${lines.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}\n`).join('')}\
In a container of the service, and in the folder of npm start, its own address and token are the default.`;
}

export function importHelp(
  service: Service,
  { name, columns, example }: Resource,
  byDefault: Resource,
): string {
  const command = `${service.identity.name} import${choiceOf(name, '--resource', byDefault)}`;
  return `
FILE is NDJSON, with one record per line such as ${example},
or CSV whose header line has ${columnsText(columns)}, in any order,
separated by commas, semicolons, tabs or vertical bars.
In CSV, an empty field without quotes is absent, and "" is the empty text.

A record that the service rejects does not stop the import. All of them go to a file, as they are in FILE, to be
mended and imported. --errors saves why, in the same order. If a file exists, a number is added to its name.

Requests that fail are repeated, until none has succeeded for 2 minutes, or 5 seconds before the first connection.
An import that failed can be run again: what is stored with the same content counts as unchanged.
If two records have the same id and different content, either may be stored, because several requests run at a time.
${environmentHelp(service)}
${EXIT_CODES}

Examples:
  ${command} ${name}.csv
  ${command} --map number=id --map remarks= ${name}.csv
  ${command} ${name}-1.ndjson ${name}-2.ndjson
  gunzip -c ${name}.csv.gz | ${command} --format csv -`;
}

export function exportHelp(service: Service, { name }: Resource): string {
  const command = `${service.identity.name} export${choiceOf(name, '--resource', service.defaultResource)}`;
  return `
Records come in ascending order of their ids. If the connection breaks, the export continues after the last one.
${environmentHelp(service)}
${EXIT_CODES}

Examples:
  ${command} --output ${name}.csv
  ${command} | gzip > ${name}.ndjson.gz`;
}

export function changesHelp(service: Service, { name, selection }: Feed): string {
  const command = `${service.identity.name} changes${choiceOf(name, '--feed', service.feeds[0])}`;
  const selected = selection ? `\n  ${command} --${optionOf(selection.name)} 7` : '';
  return `
Each line is a change in JSON, the oldest first. If the connection breaks, the command continues after the last one.
If it cannot, or is interrupted, it prints what to run to continue.
${environmentHelp(service)}
${EXIT_CODES}

Examples:${selected}
  ${command} --follow >> changes.ndjson`;
}

export function webhooksHelp(service: Service): string {
  const { name } = service.identity;
  return `${environmentHelp(service)}
${EXIT_CODES}

Examples:
  SECRET=$(${name} webhooks create https://example.com/webhooks --kinds created)
  ${name} webhooks list --json`;
}

export function listenHelp(service: Service): string {
  const command = `${service.identity.name} listen`;
  return `
The command makes a webhook to this machine, and removes it at the end. Each line is a message whose signature is valid.
With --forward-to, the address gets the message with its header fields, and its response becomes the one to the service.
The service must run on this machine, with WEBHOOK_ALLOWED_NETWORKS=loopback, which npm start sets.
${environmentHelp(service)}
${EXIT_CODES}

Examples:
  ${command}
  ${command} --forward-to http://localhost:4000/hook`;
}

/** The option that chooses a resource or a feed, with the space before it, unless it is the default. */
export function choiceOf(
  name: string,
  option: '--resource' | '--feed',
  byDefault: { readonly name: string } | undefined,
): string {
  return name === byDefault?.name ? '' : ` ${option} ${name}`;
}
