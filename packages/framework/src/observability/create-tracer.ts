import type { Logger } from 'pino';
import type { Identity } from '../config/identity.js';
import { isTelemetryDisabled } from '../config/telemetry-variables.js';
import { NO_TRACER } from './tracer.js';
import type { Tracer } from './tracer.js';

/**
 * A tracer that sends spans to `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`. Loads OpenTelemetry only
 * if one of them is set.
 */
export async function createTracer(identity: Identity, log: Logger): Promise<Tracer> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } =
    process.env;
  if (!(all || traces) || isTelemetryDisabled(process.env)) return NO_TRACER;
  const { OpenTelemetryTracer } = await import('./open-telemetry-tracer.js');
  return new OpenTelemetryTracer(identity, log);
}
