import { getSchemaPath } from '@nestjs/swagger';
import type { OpenAPIObject } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { ErrorDto } from '../http/errors/error.dto.js';
import { REQUEST_ID_HEADER } from '../http/server/request-id.js';

export type SchemasObject = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;

const REQUEST_ID_PARAMETER = {
  name: REQUEST_ID_HEADER,
  in: 'header',
  required: false,
  description:
    'Identifies the request in the log of the service: 1 to 128 letters, digits and `_.:+/=@-`. If it is missing or has any other form, the service generates an id.',
  schema: { type: 'string' },
} as const;

const RESPONSE_REQUEST_ID = {
  description: 'Identifies the request in the log of the service.',
  schema: { type: 'string' },
} as const;

const OTHER_ERROR = {
  description: 'Any other error. Later versions may add error numbers and statuses.',
  content: { 'application/json': { schema: { $ref: getSchemaPath(ErrorDto) } } },
};

/** Adds the parts that every operation has. */
export function withCommonParts(document: OpenAPIObject): OpenAPIObject {
  const complete = structuredClone(document);
  for (const pathItem of Object.values(complete.paths)) {
    for (const operation of Object.values(pathItem) as OperationObject[]) {
      operation.parameters = [...(operation.parameters ?? []), REQUEST_ID_PARAMETER];
      operation.responses['default'] = structuredClone(OTHER_ERROR);
      for (const response of Object.values(operation.responses)) {
        if (response === undefined || '$ref' in response) continue;
        response.headers = { ...response.headers, [REQUEST_ID_HEADER]: RESPONSE_REQUEST_ID };
      }
      allowNewFields(operation.responses, complete.components?.schemas ?? {});
    }
  }
  // Receivers, too.
  allowNewFields(complete.webhooks, complete.components?.schemas ?? {});
  return complete;
}

/**
 * Allows additional fields in every schema that a part of the document refers to, for later versions. JSON Schema allows them by
 * default, but generated Java and Go clients reject them unless the schema says so.
 */
function allowNewFields(part: unknown, schemas: SchemasObject): void {
  const references = stringify(part)?.matchAll(/"#\/components\/schemas\/([^"]+)"/g) ?? [];
  for (const [, name = ''] of references) {
    const schema = schemas[name];
    if (schema === undefined || '$ref' in schema || schema.additionalProperties === true) continue;
    schema.additionalProperties = true;
    allowNewFields(schema, schemas);
  }
}
