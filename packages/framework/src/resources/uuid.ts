import { applyDecorators, Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { ERRORS } from '../errors/common-errors.js';
import { ServiceException } from '../errors/service.exception.js';
import { IfPresent } from './member.js';
import type { Member } from './member.js';

/* UUIDs (RFC 9562): `string` in TypeScript, `string` of format `uuid` in JSON, `uuid` in PostgreSQL. */

/** As PostgreSQL writes them, so that each has a single form. */
const CANONICAL = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

export const UUID_SCHEMA = { type: 'string', format: 'uuid', pattern: CANONICAL.source } as const;

/**
 * The options of a primary key that the database makes: `@PrimaryColumn(UUID_COLUMN)`. Its UUIDs are of version 7, so the
 * newest rows are at the end of the index, and of each list.
 */
export const UUID_COLUMN = { type: 'uuid', default: () => 'uuid_v7()' } as const;

/** Parses a UUID in its canonical form; `undefined` for any other text. */
export function parseUuid(text: string): string | undefined {
  return CANONICAL.test(text) ? text : undefined;
}

/** The message for a member or a parameter with any other value. */
export function uuidRule(name: string): string {
  return `${name} must be a UUID in lower case, with hyphens`;
}

const IsUuid = () => Matches(CANONICAL, { message: uuidRule('$property') });

/** A member of a body: its type, its rule and its schema. The property is a `string`. */
export function UuidField({ isOptional = false, ...schema }: Member<string>): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ ...UUID_SCHEMA, ...schema, required: !isOptional }),
    ...(isOptional ? [IfPresent()] : []),
    IsUuid(),
  );
}

/** A parameter of the query that is a UUID. The property is a `string`. */
export function UuidParameter(description: string): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({ ...UUID_SCHEMA, description }),
    IfPresent(),
    IsUuid(),
  );
}

/** Parses a parameter of a path. Only the canonical form is valid, so that everything has a single path. */
@Injectable()
export class UuidPipe implements PipeTransform<string, string> {
  /** @throws ServiceException `parameter-not-valid` */
  transform(text: string, { data = 'the parameter' }: ArgumentMetadata): string {
    const value = parseUuid(text);
    if (value !== undefined) return value;
    throw new ServiceException(ERRORS.parameterNotValid, uuidRule(data));
  }
}
