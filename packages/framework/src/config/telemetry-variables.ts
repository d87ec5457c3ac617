import { HEADERS, HTTP_URL, integer, oneOf, RATIO } from './variable-types.js';
import type { VariableType } from './variable-types.js';

type Variables = Readonly<Record<string, VariableType>>;

const EXPORTER: Variables = {
  ENDPOINT: HTTP_URL,
  PROTOCOL: {
    // Every receiver of OTLP over HTTP accepts both. The service sends JSON.
    ...oneOf(['http/json', 'http/protobuf']),
    constraint: 'http/json, which the service sends, or http/protobuf; it cannot send grpc',
  },
  HEADERS,
  TIMEOUT: integer(1, 600_000, 'a number of milliseconds'),
  COMPRESSION: oneOf(['gzip', 'none']),
};

/** The exporter silently uses its defaults in place of invalid values. */
export const EXPORTER_VARIABLES: Variables = Object.fromEntries(
  Object.entries(EXPORTER).flatMap(([name, variable]) => [
    [`OTEL_EXPORTER_OTLP_${name}`, variable],
    [`OTEL_EXPORTER_OTLP_TRACES_${name}`, variable],
  ]),
);

const SPANS = integer(1, 1_000_000, 'a number of spans');
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/** The SDK would export empty batches without end if a batch has 0 spans, and lose traces with an unknown sampler. */
export const SDK_VARIABLES: Variables = {
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: SPANS,
  OTEL_BSP_MAX_QUEUE_SIZE: SPANS,
  OTEL_TRACES_SAMPLER: oneOf([...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`)]),
  OTEL_TRACES_SAMPLER_ARG: RATIO,
};

/** A boolean of OpenTelemetry's specification: anything but `true` is false. */
export function isTelemetryDisabled(environment: Readonly<NodeJS.ProcessEnv>): boolean {
  return environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
}

/** The SDK reads these variables as they are, and none of its own without an endpoint. */
export function telemetryMistakes(environment: Readonly<NodeJS.ProcessEnv>): string[] {
  if (isTelemetryDisabled(environment)) return [];
  const isSent =
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const variables = { ...EXPORTER_VARIABLES, ...(isSent && SDK_VARIABLES) };
  return Object.entries(variables).flatMap(([name, { parse, constraint }]) => {
    const text = environment[name];
    return !text || parse(text) !== undefined ? [] : [`${name} must be ${constraint}`];
  });
}
