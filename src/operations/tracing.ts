import { provideTracer } from './tracer.js';

/* To be loaded before the service: `node --import ./dist/operations/tracing.js dist/main.js`. It loads
   nothing by itself, so that NODE_OPTIONS may name it for other programs as well, such as health checks. */

provideTracer(async (log) => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: disabled } = process.env;
  if (!endpoint || disabled === 'true') return undefined;
  const { OpenTelemetryTracer } = await import('./open-telemetry-tracer.js');
  return new OpenTelemetryTracer(log);
});
