import { MIMEType } from 'node:util';
import type { Request, Response } from 'express';
import { Sum } from '../../bounds/sum.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import { chunksOf } from './body-chunks.js';
import { splitLines } from './body-lines.js';
import type { BodyLimits, BodyLine } from './body-lines.js';
import { withoutByteOrderMark } from '../../json/byte-order-mark.js';
import { parseAllDigits } from '../../json/exact-json.js';
import type { JsonSource } from '../../json/exact-json.js';
import { quoteText } from '../../json/quote.js';
import { declaresBody } from './unread-body.js';

/**
 * Bytes of all bodies that arrive in chunks, until their responses close. Each body may be in memory four times: as chunks,
 * text, entity, and database message.
 */
export const MAX_BODIES = 32 * 1024 * 1024;

/** Bodies up to this size have as much again, so that long bodies cannot block them. */
export const SHORT = 16 * 1024;

/** A body that took longer, in milliseconds, makes the token be verified again. */
const SLOW = 1_000;

export type MediaTypes = readonly string[];

const JSON_ONLY: MediaTypes = ['application/json'];

interface BodyMemory {
  readonly limits: BodyLimits;
  readonly taken: Sum;
}

/** The body of a request, read by the first parameter that needs it, after the guards. */
export class UnreadBody {
  private isTaken = false;

  constructor(
    private readonly request: Request,
    private readonly memory: BodyMemory,
  ) {}

  /** The value is not kept here, so that its memory can be freed while the entity waits. */
  async read(accepted: MediaTypes = JSON_ONLY): Promise<unknown> {
    this.take();
    return parseJson(await this.bytes(accepted), 'body');
  }

  /** Without a byte order mark. The limits on length and time apply to each line. */
  lines(accepted: MediaTypes): AsyncIterable<readonly BodyLine[]> {
    this.take();
    const { request } = this;
    const { limits } = this.memory;
    if (declaresBody(request)) requireType(request, accepted);
    // While the database is slow, the socket may be silent for a long time.
    request.socket.setTimeout(0);
    const chunks = withoutByteOrderMark(chunksOf(request, limits.idleMilliseconds));
    return splitLines(chunks, limits);
  }

  private async bytes(accepted: MediaTypes): Promise<Buffer> {
    const { request } = this;
    const { limits } = this.memory;
    if (!declaresBody(request)) throw new ServiceException(ERRORS.bodyMissing);
    const length = request.headers['content-length'];
    if (length !== undefined) {
      if (Number(length) > limits.bytes) throw tooLarge(limits);
      requireType(request, accepted);
    }
    // Most bodies arrive together with the header fields.
    const hasArrived = Number(length) === request.readableLength;
    if (hasArrived) request.bodyIsRead = true;
    const body = hasArrived ? (request.read() as Buffer) : await this.collect(accepted);
    if (body.length === 0) throw new ServiceException(ERRORS.bodyMissing);
    return body;
  }

  private async collect(accepted: MediaTypes): Promise<Buffer> {
    const { request } = this;
    const { limits, taken } = this.memory;
    const response = request.res as Response;
    let own = 0;
    const take = (bytes: number): boolean => {
      const max = own + bytes <= SHORT ? 2 * MAX_BODIES : MAX_BODIES;
      // If no other body uses memory, every length has room.
      if (taken.value !== own && taken.value + bytes > max) return false;
      taken.add(bytes);
      own += bytes;
      return true;
    };
    const giveBack = (): void => {
      taken.subtract(own);
      own = 0;
    };
    response.once('close', giveBack);
    const chunks: Buffer[] = [];
    let size = 0;
    let isKept = true;
    const begin = performance.now();
    const whole = setTimeout(
      () => request.bodyChunks?.destroy(new ServiceException(ERRORS.requestTimeout)),
      limits.milliseconds,
    );
    try {
      for await (const chunk of chunksOf(request, limits.idleMilliseconds)) {
        // Whether a chunked body is empty is known only after its first chunk.
        if (size === 0) requireType(request, accepted);
        size += chunk.length;
        if (size > limits.bytes) throw tooLarge(limits);
        // Without room, the rest is read and discarded: a client that is still sending would not see the response.
        // A closed response has given back its share already.
        isKept &&= !response.closed && take(chunk.length);
        if (isKept) {
          chunks.push(chunk);
        } else {
          chunks.length = 0;
          giveBack();
        }
      }
    } finally {
      clearTimeout(whole);
    }
    if (!isKept) throw new ServiceException(ERRORS.tooManyBodies);
    // The token may have expired or been revoked meanwhile.
    if (performance.now() - begin > SLOW) await request.guard?.requireValidToken(request);
    return Buffer.concat(chunks, size);
  }

  private take(): void {
    if (this.isTaken) throw new TypeError('only one parameter of a handler can read the body');
    this.isTaken = true;
  }
}

export function jsonBody(limits: BodyLimits) {
  const memory = { limits, taken: new Sum() };
  return (request: Request): void => {
    request.body = new UnreadBody(request, memory);
  };
}

function tooLarge({ bytes }: BodyLimits): ServiceException {
  return new ServiceException(
    ERRORS.bodyTooLarge,
    `the body must not be longer than ${bytes} bytes`,
  );
}

function requireType({ headers, method }: Request, accepted: MediaTypes): void {
  const { 'content-type': type, 'content-encoding': coding } = headers;
  let found: string;
  if (coding !== undefined) found = `Content-Encoding ${quoteText(coding)}`;
  else if (type === undefined) found = 'no Content-Type';
  else if (isUtf8(type, accepted)) return;
  else found = `Content-Type ${quoteText(type)}`;
  const message = `the body must be ${accepted.join(' or ')} in UTF-8, without Content-Encoding; the request has ${found}`;
  // RFC 5789, section 3.1; Linked Data Platform, section 7.1; RFC 9110, section 12.5.1.
  const name = { POST: 'Accept-Post', PATCH: 'Accept-Patch' }[method] ?? 'Accept';
  throw new ServiceException(ERRORS.unsupportedMediaType, message, {
    headers: { [name]: accepted.join(', ') },
  });
}

function isUtf8(contentType: string, accepted: MediaTypes): boolean {
  if (accepted.includes(contentType)) return true;
  try {
    const { essence, params } = new MIMEType(contentType);
    return accepted.includes(essence) && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

// `ignoreBOM` keeps a byte order mark in the text, where the parser rejects it (RFC 8259, section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function parseJson(bytes: Buffer, source: JsonSource): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (error) {
    throw new ServiceException(ERRORS.malformedJson, `the ${source} is not valid UTF-8`, {
      cause: error,
    });
  }
  return parseAllDigits(text, source);
}

/**
 * The media types of the body of every PATCH, for `@BodyTypes()` and for OPTIONS: JSON Merge Patch (RFC 7396).
 *
 * @example
 * @BodyTypes(...PATCH_TYPES)
 * export class ToolPatchDto extends PatchOf(Tool) {}
 */
export const PATCH_TYPES = ['application/merge-patch+json', 'application/json'] as const;
