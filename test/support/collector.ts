import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Value = string | number | boolean | undefined;

/** A span, as far as tests look at it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Of the status; 2 is an error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, Value>>;
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, Value>>;
}

interface Attribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: number | string;
    readonly boolValue?: boolean;
  };
}

/** What OTLP sends as JSON (opentelemetry-proto, `trace/v1`). */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly kind: number;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly Attribute[];
        readonly status: { readonly code?: number };
      }[];
    }[];
  }[];
}

/** A collector of traces, which takes OTLP over HTTP as JSON. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  /** Bodies as they arrived. */
  readonly bodies: string[] = [];
  /** The field Authorization of each request. */
  readonly credentials: (string | undefined)[] = [];

  private constructor(private readonly server: Server) {}

  /** @param silent takes requests, and never answers */
  static async start({ silent = false } = {}): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      if (request.url !== '/v1/traces' || request.method !== 'POST') {
        response.writeHead(404).end();
        return;
      }
      void collector.take(request).then(() => silent || response.end('{}'));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** All spans of a trace so far. */
  trace(id: unknown): ReceivedSpan[] {
    return this.spans.filter(({ traceId }) => traceId === id);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async take(request: IncomingMessage): Promise<void> {
    this.credentials.push(request.headers.authorization);
    const body = await text(request);
    this.bodies.push(body);
    const { resourceSpans } = JSON.parse(body) as ExportRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({
          name: span.name,
          kind: span.kind,
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          status: span.status.code ?? 0,
          attributes: valuesOf(span.attributes),
          resource: valuesOf(resource.attributes),
        });
      }
    }
  }
}

function valuesOf(attributes: readonly Attribute[]): Record<string, Value> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue),
    ]),
  );
}
