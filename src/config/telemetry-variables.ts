import type { Variable } from './read-variable.js';
import { httpUrl, integerWithin, keyValueList, oneOf } from './variable-parsers.js';

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
  parse: keyValueList,
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

/**
 * The variables of OpenTelemetry on which it depends whether traces arrive. The exporter reads them by itself, and takes its
 * defaults in place of what it cannot read, without a word.
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
} as const satisfies Record<string, Variable>;
