import { Lines } from './lines.js';

/** What a blank line of a stream ends. */
export interface ServerEvent {
  /** The last id so far. Empty if the stream had none. */
  readonly id: string;
  /** `message` unless the stream says otherwise. */
  readonly type: string;
  /** `undefined` if there is only an id. */
  readonly data: string | undefined;
}

/**
 * Parses server-sent events (WHATWG HTML, section 9.2.6). Unlike there, an id without data is passed on, too. What follows the
 * last blank line is left out. The field `retry` has no effect.
 */
export async function* eventsOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent, void> {
  const lines = new Lines(/\r\n|\r|\n/);
  let id = '';
  let isNewId = false;
  let type = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    for (const line of lines.endedBy(chunk)) {
      if (line === '') {
        const hasData = data.length > 0;
        if (hasData || isNewId) {
          yield { id, type: type || 'message', data: hasData ? data.join('\n') : undefined };
        }
        isNewId = false;
        type = '';
        data = [];
        continue;
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === 'data') data.push(value);
      else if (field === 'event') type = value;
      else if (field === 'id' && !value.includes('\0')) {
        id = value;
        isNewId = true;
      }
    }
  }
}
