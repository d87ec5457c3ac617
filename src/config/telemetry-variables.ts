import type { Variable } from './read-variable.js';
import { headerList, httpUrl, integerWithin, oneOf, ratio } from './variable-parsers.js';

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
const SPANS = { parse: integerWithin(1, 1_000_000), rule: 'a number of spans, 1 to 1000000' };
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const COMPRESSION = { parse: oneOf(['gzip', 'none']), rule: 'gzip or none' };

/** A boolean of OpenTelemetry's specification: anything but `true` is false. */
export function isTelemetryDisabled(environment: Readonly<NodeJS.ProcessEnv>): boolean {
  return environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
}

/**
 * The variables of OpenTelemetry on which it depends whether traces arrive. The SDK reads them by itself, and takes its
 * defaults in place of what it cannot read, without a word. With batches of 0 spans, it would send empty ones without end.
 */
export const TELEMETRY_VARIABLES = {
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
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: SPANS,
  OTEL_BSP_MAX_QUEUE_SIZE: SPANS,
  OTEL_BSP_SCHEDULE_DELAY: TIMEOUT,
  OTEL_BSP_EXPORT_TIMEOUT: TIMEOUT,
  OTEL_TRACES_SAMPLER: { parse: oneOf(SAMPLERS), rule: `one of ${SAMPLERS.join(', ')}` },
  OTEL_TRACES_SAMPLER_ARG: { parse: ratio, rule: 'a number from 0 to 1' },
} as const satisfies Record<string, Variable>;
