import type { Result } from './check.js';
import type { Exchange } from './exchange.js';
import { toJson } from './json.js';

/** Of a body. */
const MAX_LENGTH = 2_000;

/** The lines of a result in TAP, version 14. */
export function tapOf(result: Result, number: number): string {
  const line = `ok ${number} - ${result.name.replaceAll('#', String.raw`\#`)}`;
  if (result.outcome === 'pass') return line;
  const [reason = '', ...more] = result.reason.split('\n');
  if (result.outcome === 'not applicable') return `${line} # SKIP ${reason}`;
  const details = [`reason: ${toJson(reason)}`, ...more.map((each) => `# ${each}`)];
  const exchanges = result.exchanges.flatMap(exchangeLines);
  const block = [
    '---',
    ...details,
    ...(exchanges.length > 0 ? ['exchanges: |', ...exchanges] : []),
    '...',
  ];
  return [`not ${line}`, ...block.map((each) => `  ${each}`)].join('\n');
}

function exchangeLines(exchange: Exchange): readonly string[] {
  const { method, path, requestHeaders, requestBody = '', status, headers, body } = exchange;
  const fields = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const lines = [
    `${method} ${path}`,
    ...fields(requestHeaders),
    ...(requestBody === '' ? [] : [requestBody.slice(0, MAX_LENGTH)]),
    `→ ${status}`,
    ...fields(headers),
    ...(body === '' ? [] : body.slice(0, MAX_LENGTH).split('\n')),
    '',
  ];
  return lines.map((each) => `  ${each}`);
}
