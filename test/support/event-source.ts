/** A client of server-sent events. */
export interface EventSourceClient {
  /** Node.js closes the stream of a response that nobody refers to. */
  readonly response: Response;
  /** The next event; `undefined` at the end of the stream. */
  next(): Promise<ReceivedEvent | undefined>;
  /** The next events. */
  take(count: number): Promise<ReceivedEvent[]>;
  close(): void;
}

export interface ReceivedEvent {
  readonly id: string;
  readonly data: Record<string, unknown>;
}

/** Follows a stream of events, and parses what it needs of the format (WHATWG HTML, section 9.2.6). */
export async function followEvents(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventSourceClient> {
  const end = new AbortController();
  const response = await fetch(url, {
    headers: { Accept: 'text/event-stream', ...headers },
    signal: end.signal,
  });
  const events = parse(response.body!);
  const next = async () => (await events.next()).value as ReceivedEvent | undefined;
  return {
    response,
    next,
    take: async (count) => {
      const taken: ReceivedEvent[] = [];
      while (taken.length < count) {
        const event = await next();
        if (event === undefined) throw new Error(`the stream ended after ${taken.length} events`);
        taken.push(event);
      }
      return taken;
    },
    close: () => end.abort(),
  };
}

async function* parse(body: ReadableStream<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.replace(/^[^:]*: ?/, '')]),
      );
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (data === undefined) continue;
      yield { id: fields.get('id')!, data: JSON.parse(data) as Record<string, unknown> };
    }
  }
}
