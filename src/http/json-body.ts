import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';
import type { Request, Response } from 'express';
import { ERROR_TABLE } from '../errors/error-table.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { parseExactJson } from './exact-json.js';
import { quote } from './quote.js';
import { declaresBody } from './unread-body.js';

/**
 * Bytes of bodies that come in pieces, of all requests that are not answered yet. Each may be in memory four
 * times: its pieces, its text, the plant, and what is sent to the database.
 */
const MAX_UNANSWERED = 32 * 1024 * 1024;

/** Bytes that every body may have, so that short ones do not depend on long ones. */
const FREE = 16 * 1024;

interface BodyLimits {
  /** Longest body, in bytes. */
  readonly bytes: number;
  /** Longest pause between two pieces of a body, in milliseconds. */
  readonly idleMilliseconds: number;
  /** From the first look at a body to its end. */
  readonly milliseconds: number;
}

/** Bounds the memory that all bodies take together. */
class BodyMemory {
  private taken = 0;

  constructor(readonly limits: BodyLimits) {}

  /** The share of one body. A body that is alone always has room, whatever its length. */
  share() {
    let own = 0;
    const giveBack = (): void => {
      this.taken -= own;
      own = 0;
    };
    const take = (bytes: number): boolean => {
      const others = this.taken - own;
      const room = own + bytes <= FREE || others === 0 || this.taken + bytes <= MAX_UNANSWERED;
      if (room) {
        this.taken += bytes;
        own += bytes;
      }
      return room;
    };
    return { take, giveBack };
  }
}

declare global {
  namespace Express {
    interface Request {
      /** Set when all of the body is read before Node has noticed its end. */
      bodyIsRead?: boolean;
    }
  }
}

/**
 * Stands for the body of a request until a parameter asks for it, after the guards: nobody without a
 * valid token gets a body read.
 */
export class UnreadBody {
  private isTaken = false;

  constructor(
    private readonly request: Request,
    private readonly memory: BodyMemory,
  ) {}

  /** The JSON value of the body. It is not kept, so that it can go while its plant waits. */
  async read(): Promise<unknown> {
    if (this.isTaken) throw new TypeError('a handler can have only one parameter with @Body()');
    this.isTaken = true;
    return parseExactJson(decode(await readBody(this.request, this.memory)));
  }
}

/** Gives every request its body, unread. */
export function jsonBody(limits: BodyLimits) {
  const memory = new BodyMemory(limits);
  return (request: Request): void => {
    request.body = new UnreadBody(request, memory);
  };
}

async function readBody(request: Request, memory: BodyMemory): Promise<Buffer> {
  const { limits } = memory;
  if (!declaresBody(request)) throw new PlantStoreError('body-missing');
  const length = request.headers['content-length'];
  if (length !== undefined) {
    if (Number(length) > limits.bytes) throw tooLarge(limits);
    const refusal = refusalOfType(request.headers);
    if (refusal !== undefined) throw refusal;
  }
  // The server hands over requests with this expectation unanswered (see http-server.ts). RFC 9110,
  // section 10.1.1: it is of HTTP/1.1 only.
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') {
    request.res?.writeContinue();
  }
  const body = await collect(request, memory);
  if (body.length === 0) throw new PlantStoreError('body-missing');
  return body;
}

function collect(request: Request, memory: BodyMemory): Promise<Buffer> | Buffer {
  // Most bodies have arrived together with the header fields: nothing to wait for.
  if (Number(request.headers['content-length']) === request.readableLength) {
    request.bodyIsRead = true;
    return request.read() as Buffer;
  }
  const { limits } = memory;
  const response = request.res as Response;
  const share = memory.share();
  response.once('close', () => share.giveBack());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isKept = true;
    const onTimeout = () => settle(() => reject(new PlantStoreError('request-timeout')));
    const idle = setTimeout(onTimeout, limits.idleMilliseconds);
    const whole = setTimeout(onTimeout, limits.milliseconds);
    const onData = (chunk: Buffer) => {
      idle.refresh();
      // Only the first byte of a chunked body tells that there is one at all.
      const refusal = size === 0 ? refusalOfType(request.headers) : undefined;
      if (refusal !== undefined) return settle(() => reject(refusal));
      size += chunk.length;
      if (size > limits.bytes) return settle(() => reject(tooLarge(limits)));
      // The rest of a body that is not kept is read as well: a client that is still sending would not see the
      // answer. A closed response has given its share back already.
      isKept &&= !response.closed && share.take(chunk.length);
      if (isKept) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        share.giveBack();
      }
    };
    const onEnd = () =>
      settle(() => (isKept ? resolve(Buffer.concat(chunks, size)) : reject(overloaded())));
    const onError = (error: Error) => settle(() => reject(error));
    const settle = (outcome: () => void) => {
      clearTimeout(idle);
      clearTimeout(whole);
      request.off('data', onData).off('end', onEnd).off('error', onError).pause();
      // An aborted request emits one more error, which must find a listener.
      request.on('error', () => {});
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onError);
  });
}

function overloaded(): PlantStoreError {
  return new PlantStoreError('overloaded', 'too many long bodies are on their way');
}

function tooLarge({ bytes }: BodyLimits): PlantStoreError {
  return new PlantStoreError('body-too-large', `the body must not be longer than ${bytes} bytes`);
}

/** Why the body cannot be read as JSON, as far as its header fields tell. */
function refusalOfType(headers: IncomingHttpHeaders): PlantStoreError | undefined {
  const { 'content-type': type, 'content-encoding': coding } = headers;
  let found: string;
  if (coding !== undefined) found = `with the content coding ${quote(coding)}`;
  else if (type === undefined) found = 'without a Content-Type';
  else if (isUtf8Json(type)) return undefined;
  else found = `as ${quote(type)}`;
  const { message } = ERROR_TABLE['unsupported-media-type'];
  return new PlantStoreError('unsupported-media-type', `${message}; it came ${found}`);
}

function isUtf8Json(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  try {
    const { essence, params } = new MIMEType(contentType);
    return essence === 'application/json' && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

// `ignoreBOM` keeps a byte order mark in the text, where it is no JSON (RFC 8259, section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (error) {
    throw new PlantStoreError('malformed-json', 'the body is not valid UTF-8', { cause: error });
  }
}
