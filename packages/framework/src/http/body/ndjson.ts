import { createParamDecorator, StreamableFile } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { Request } from 'express';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { BodyLine } from './body-lines.js';
import { toDto } from './dto.pipe.js';
import { stringifyExactJson } from '../../json/exact-json.js';
import { parseJson } from './json-body.js';
import type { UnreadBody } from './json-body.js';

export const NDJSON = 'application/x-ndjson';

/**
 * The lines of an NDJSON body while they arrive.
 *
 * @example import(@NdjsonLines() lines: AsyncIterable<readonly BodyLine[]>) {}
 */
export const NdjsonLines = createParamDecorator((_: unknown, context: ExecutionContext) =>
  (context.switchToHttp().getRequest<Request>().body as UnreadBody).lines([NDJSON]),
);

export function lineToDto<T extends object>(dtoClass: new () => T, { bytes }: BodyLine): T {
  if (bytes === undefined) {
    throw new ServiceException(ERRORS.bodyTooLarge, 'the line is longer than a body may be');
  }
  return toDto(dtoClass, parseJson(bytes, 'line'), 'line');
}

export function toLine(value: object): string {
  return `${stringifyExactJson(value)}\n`;
}

/** Lines that are sent as fast as the client reads them. */
export class LinesFile extends StreamableFile {
  /** Whether an error after the first line becomes the last line. Otherwise, the connection breaks. */
  readonly endsInError: boolean;

  /**
   * @example
   * return new LinesFile(this.gardens.import(lines, signal), { endsInError: true });
   */
  constructor(lines: AsyncIterable<string>, options?: { readonly endsInError: boolean });
  /** @deprecated write `{ endsInError: true }`, or leave `false` out */
  constructor(lines: AsyncIterable<string>, endsInError: boolean);
  constructor(
    lines: AsyncIterable<string>,
    options: boolean | { readonly endsInError: boolean } = false,
  ) {
    super(Readable.from(lines, { objectMode: false }), { type: NDJSON });
    this.endsInError = typeof options === 'boolean' ? options : options.endsInError;
  }
}
