import type { Variable } from './read-variable.js';
import { headerList, httpUrl, integerWithin, oneOf } from './variable-parsers.js';

const ENDPOINT = {
  parse: httpUrl,
  rule: 'an http or https URL without user, password and query, such as http://127.0.0.1:4318',
};
const PROTOCOL = {
  // Every receiver of OTLP over HTTP takes both. The service sends JSON.
  parse: oneOf(['http/json', 'http/protobuf']),
  rule: 'http/json, which the service sends, or http/protobuf; it cannot send grpc',
};
const HEADERS = {
  parse: headerList,
  rule: 'a list such as name=value,other=value, special characters percent-encoded',
};
const TIMEOUT = {
  parse: integerWithin(1, 600_000),
  rule: 'a number of milliseconds, 1 to 600000',
};
const COMPRESSION = { parse: oneOf(['gzip', 'none']), rule: 'gzip or none' };

/** A boolean of OpenTelemetry's specification: anything but `true` is false. */
export function isTelemetryDisabled(environment: Readonly<NodeJS.ProcessEnv>): boolean {
  return environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
}

/** The exporter takes its defaults in place of what it cannot read, without a word. */
export const EXPORTER_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT,
  OTEL_EXPORTER_OTLP_PROTOCOL: PROTOCOL,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: PROTOCOL,
  OTEL_EXPORTER_OTLP_HEADERS: HEADERS,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: HEADERS,
  OTEL_EXPORTER_OTLP_TIMEOUT: TIMEOUT,
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: TIMEOUT,
  OTEL_EXPORTER_OTLP_COMPRESSION: COMPRESSION,
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: COMPRESSION,
} as const satisfies Record<string, Variable>;

const SPANS = { parse: integerWithin(1, 1_000_000), rule: 'a number of spans, 1 to 1000000' };
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The SDK would export empty batches without end if a batch has 0 spans, and log that traces are lost if it does not know the sampler. */
export const SDK_VARIABLES = {
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: SPANS,
  OTEL_BSP_MAX_QUEUE_SIZE: SPANS,
  OTEL_TRACES_SAMPLER: { parse: oneOf(SAMPLERS), rule: `one of ${SAMPLERS.join(', ')}` },
} as const satisfies Record<string, Variable>;

/** The variables of OpenTelemetry that the start checks: without an endpoint, nothing is traced, and the SDK reads none of its own. */
export function telemetryVariables(
  environment: Readonly<NodeJS.ProcessEnv>,
): Readonly<Record<string, Variable>> {
  const isSent =
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  return { ...EXPORTER_VARIABLES, ...(isSent && SDK_VARIABLES) };
}
