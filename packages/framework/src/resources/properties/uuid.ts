import { applyDecorators } from '@nestjs/common';
import { Matches } from 'class-validator';
import { Declares } from './kind.js';
import type { Kind } from './kind.js';
import { Field, ParameterPipe, Parsed } from './property.js';
import type { PropertyOptions } from './property.js';

/* UUIDs (RFC 9562): `string` in TypeScript, `string` of format `uuid` in JSON, `uuid` in PostgreSQL. */

/** In any case (RFC 9562, section 4): Apple's systems write upper case. */
const HYPHENATED = /^[\da-fA-F]{8}(?:-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$/;

export const UUID_SCHEMA = { type: 'string', format: 'uuid', pattern: HYPHENATED.source } as const;

/**
 * The options of a primary key that the database makes. Its UUIDs have version 7, so the newest rows are at the end of the index, and
 * of each list.
 *
 * @example
 * @PrimaryColumn(UUID_COLUMN)
 * @UuidField({ description: 'The id of the loan.' })
 * readonly id!: Filled<string>;
 */
export const UUID_COLUMN = { type: 'uuid', default: () => 'uuid_v7()' } as const;

/** Parses a UUID with hyphens into PostgreSQL's form, in lower case; `undefined` for any other text. */
export function parseUuid(text: string): string | undefined {
  return HYPHENATED.test(text) ? text.toLowerCase() : undefined;
}

export function uuidConstraint(name: string): string {
  return `${name} must be a UUID with hyphens`;
}

export const UUID: Kind<string> = {
  schema: UUID_SCHEMA,
  parse: parseUuid,
  constraintOf: uuidConstraint,
};

function IsUuid(): PropertyDecorator {
  return applyDecorators(
    Parsed(parseUuid),
    Matches(HYPHENATED, { message: uuidConstraint('$property') }),
  );
}

/**
 * Declares the type, validation and schema of a UUID, in a property of type `string`.
 *
 * @example
 * @Column('uuid')
 * @UuidField({ description: 'The loan that it prolongs.' })
 * readonly loanId!: string;
 */
export function UuidField(options: PropertyOptions<string>): PropertyDecorator {
  return Field({ ...UUID_SCHEMA, ...options }, IsUuid(), Declares({ kind: UUID }));
}

/**
 * Declares a query parameter that is a UUID, in a property of type `string`.
 *
 * @example
 * @UuidParameter('Only notices of this loan.')
 * readonly loanId?: string;
 */
export function UuidParameter(description: string): PropertyDecorator {
  return UuidField({ description, isOptional: true });
}

/**
 * Parses a path parameter, in any case.
 *
 * @throws ServiceException `parameter-not-valid`
 *
 * @example find(@Param('id', UuidPipe) id: string) {}
 */
export class UuidPipe extends ParameterPipe(parseUuid, uuidConstraint) {}
