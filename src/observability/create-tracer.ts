import type { Logger } from 'pino';
import { NO_TRACER } from './tracer.js';
import type { Tracer } from './tracer.js';

/** Returns a tracer that sends spans to `OTEL_EXPORTER_OTLP_ENDPOINT`. Loads OpenTelemetry only if that is set. */
export async function createTracer(log: Logger): Promise<Tracer> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: disabled } = process.env;
  if (!endpoint || disabled === 'true') return NO_TRACER;
  const { OpenTelemetryTracer } = await import('./open-telemetry-tracer.js');
  return new OpenTelemetryTracer(log);
}
