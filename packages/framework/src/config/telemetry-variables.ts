import type { Variable } from './read-variable.js';
import { headerList, httpUrl, integerWithin, oneOf, ratio } from './variable-parsers.js';

type Variables = Readonly<Record<string, Variable>>;

/** Each also has a variable for traces alone. */
const EXPORTER: Variables = {
  ENDPOINT: {
    parse: httpUrl,
    rule: 'an http or https URL without user, password and query, such as http://127.0.0.1:4318',
  },
  PROTOCOL: {
    // Every receiver of OTLP over HTTP accepts both. The service sends JSON.
    parse: oneOf(['http/json', 'http/protobuf']),
    rule: 'http/json, which the service sends, or http/protobuf; it cannot send grpc',
  },
  HEADERS: {
    parse: headerList,
    rule: 'a list such as name=value,other=value, special characters percent-encoded',
  },
  TIMEOUT: {
    parse: integerWithin(1, 600_000),
    rule: 'a number of milliseconds, 1 to 600000',
  },
  COMPRESSION: { parse: oneOf(['gzip', 'none']), rule: 'gzip or none' },
};

/** The exporter silently uses its defaults in place of invalid values. */
export const EXPORTER_VARIABLES: Variables = Object.fromEntries(
  Object.entries(EXPORTER).flatMap(([name, variable]) => [
    [`OTEL_EXPORTER_OTLP_${name}`, variable],
    [`OTEL_EXPORTER_OTLP_TRACES_${name}`, variable],
  ]),
);

const SPANS = { parse: integerWithin(1, 1_000_000), rule: 'a number of spans, 1 to 1000000' };
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** The SDK would export empty batches without end if a batch has 0 spans, and lose traces with an unknown sampler. */
export const SDK_VARIABLES: Variables = {
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: SPANS,
  OTEL_BSP_MAX_QUEUE_SIZE: SPANS,
  OTEL_TRACES_SAMPLER: { parse: oneOf(SAMPLERS), rule: `one of ${SAMPLERS.join(', ')}` },
  OTEL_TRACES_SAMPLER_ARG: { parse: ratio, rule: 'a ratio from 0 to 1, such as 0.25' },
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
  return Object.entries(variables).flatMap(([name, { parse, rule }]) => {
    const text = environment[name];
    return !text || parse(text) !== undefined ? [] : [`${name} must be ${rule}`];
  });
}
