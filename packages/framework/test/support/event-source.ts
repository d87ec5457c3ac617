/** A client of server-sent events. */
export interface EventSourceClient {
  /** Node.js closes the stream of a response that nobody refers to. */
  readonly response: Response;
  /** To be sent as `Last-Event-ID` when the client comes back. An event without data can have one. */
  readonly lastEventId: string | undefined;
  /** The next event; `undefined` at the end of the stream. */
  next(): Promise<ReceivedEvent | undefined>;
  /** The next events. */
  take(count: number): Promise<ReceivedEvent[]>;
  close(): void;
}

export interface ReceivedEvent {
  readonly id: string;
  /** As `JSON.parse` reads it. */
  readonly data: Record<string, unknown>;
  /** As it was received. */
  readonly text: string;
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
  let lastEventId: string | undefined;
  const events = parse(response.body!, (id) => (lastEventId = id));
  const next = async () => (await events.next()).value as ReceivedEvent | undefined;
  return {
    response,
    get lastEventId() {
      return lastEventId;
    },
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

async function* parse(
  body: ReadableStream<Uint8Array>,
  onId: (id: string) => void,
): AsyncGenerator<ReceivedEvent> {
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
      const [id, content] = [fields.get('id'), fields.get('data')];
      if (id !== undefined) onId(id);
      if (content === undefined) continue;
      yield { id: id!, data: JSON.parse(content) as Record<string, unknown>, text: content };
    }
  }
}
