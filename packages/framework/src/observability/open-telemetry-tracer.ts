import { AsyncLocalStorage } from 'node:async_hooks';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, Span } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import { waitAtMost } from '../bounds/waits.js';
import { snakeCase } from '../config/identity.js';
import type { Identity } from '../config/identity.js';
import { callerTrace } from './trace-context.js';
import { clientAddress } from './client-address.js';
import { isSent } from './is-sent.js';
import { knownMethod } from './request-method.js';
import { operationOf } from './tracer.js';
import type { Tracer } from './tracer.js';

/** Timeout for the last spans at shutdown, in milliseconds. */
export const FLUSH_TIMEOUT = 3_000;

/**
 * Sends spans by OTLP over HTTP, configured by the standard variables `OTEL_*`. The official instrumentations patch Node's and
 * the driver's classes, and would attribute the statement of a group to a single request.
 */
export class OpenTelemetryTracer implements Tracer {
  private readonly requests = new AsyncLocalStorage<readonly Span[]>();
  private readonly provider: BasicTracerProvider;
  private readonly spans;

  constructor(
    private readonly identity: Identity,
    log: Logger,
  ) {
    const { version } = identity.build;
    const service = { 'service.name': identity.name, 'service.version': version };
    this.provider = new BasicTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes(service))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    this.spans = this.provider.getTracer(identity.name, version);
    // Only now, because the constructor of the provider reports its defaults as errors.
    const error = (text: string) => log.warn({ reason: reasonOf(text) }, 'traces were lost');
    diag.setLogger(
      { error, warn: ignore, info: ignore, debug: ignore, verbose: ignore },
      { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
    );
  }

  request(request: Request, response: Response, handle: () => void): void {
    const method = knownMethod(request.method);
    const isKnown = method === request.method;
    const name = isKnown ? method : 'HTTP';
    const attributes: Attributes = {
      'http.request.method': method,
      ...(!isKnown && { 'http.request.method_original': request.method }),
      'url.scheme': request.secure ? 'https' : 'http',
      // Read now, because a closed socket has no address.
      'client.address': clientAddress(request),
    };
    const kind = SpanKind.SERVER;
    const span = this.spans.startSpan(name, { kind, attributes }, parentOf(request));
    const { traceId, spanId } = span.spanContext();
    request.span = { traceId, spanId };
    response.once('close', () => {
      describeOutcome(span, name, request, response);
      if (request.principal !== undefined) {
        // Semantic conventions 1.44, attribute registry. Ids are unique within a kind.
        span.setAttribute('enduser.id', request.principal.id);
        span.setAttribute(`${snakeCase(this.identity)}.principal.kind`, request.principal.kind);
      }
      span.end();
    });
    this.requests.run([span], handle);
  }

  served(): readonly Span[] {
    return this.requests.getStore() ?? [];
  }

  serving<T>(requests: readonly Span[], work: () => Promise<T>): Promise<T> {
    return this.requests.run(requests, work);
  }

  async statement<T>(text: string, run: () => Promise<T>): Promise<T> {
    // Background work may run in the context of an ended request that started its timer.
    const requests = this.served().filter((request) => request.isRecording());
    const operation = operationOf(text);
    const attributes: Attributes = {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.query.text': text,
      ...(requests.length > 1 && { 'db.operation.batch.size': requests.length }),
    };
    const spans = requests.map((request) =>
      this.spans.startSpan(
        operation,
        { kind: SpanKind.CLIENT, attributes },
        trace.setSpan(ROOT_CONTEXT, request),
      ),
    );
    try {
      return await run();
    } catch (error) {
      for (const span of spans) fail(span, errorTypeOf(error));
      throw error;
    } finally {
      for (const span of spans) span.end();
    }
  }

  stop(): Promise<void> {
    return waitAtMost(
      FLUSH_TIMEOUT,
      this.provider.shutdown().catch(() => {}),
    );
  }
}

function parentOf(request: Request): Context {
  const caller = callerTrace(request);
  if (caller === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, sampled } = caller;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number(sampled),
    isRemote: true,
  });
}

/** Without path, query and headers, which can contain secrets. */
function describeOutcome(span: Span, name: string, request: Request, response: Response): void {
  const route: unknown = request.route?.path;
  if (typeof route === 'string') {
    span.updateName(`${name} ${route}`);
    span.setAttribute('http.route', route);
  }
  if (!isSent(response)) {
    fail(span, 'client_gone');
    return;
  }
  span.setAttribute('http.response.status_code', response.statusCode);
  if (response.statusCode >= 500) fail(span, String(response.statusCode));
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? String(error.code) : error.name;
}

/** OpenTelemetry reports an error as JSON, with its stack, or a sentence. */
function reasonOf(text: string): string {
  try {
    const { message, errors, code, name } = JSON.parse(text) as Readonly<Record<string, string>>;
    // An AggregateError (a host with two addresses) has no message.
    return message || errors || code || name || 'unknown';
  } catch {
    return text;
  }
}

function ignore(): void {}
