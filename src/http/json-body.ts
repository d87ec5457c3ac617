import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { parseExactJson } from './exact-json.js';
import { declaresBody } from './unread-body.js';

/**
 * Bytes of bodies that come in pieces, of all requests that are not answered yet. Each may be in memory four
 * times: its pieces, its text, the plant, and what is sent to the database.
 */
const MAX_UNANSWERED = 32 * 1024 * 1024;

/** Bytes that every body may have, so that short ones do not depend on long ones. */
const FREE = 16 * 1024;

export interface BodyLimits {
  /** Longest body, in bytes. */
  readonly bytes: number;
  /** Longest pause between two pieces of a body, in milliseconds. */
  readonly idleMilliseconds: number;
  /** From the first look at a body to its end. */
  readonly milliseconds: number;
}

/** What bodies take of the memory, all together. */
class BodyMemory {
  private taken = 0;

  constructor(readonly limits: BodyLimits) {}

  /** For one body. A body that is alone always has room, however long. */
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
      /** What {@link JsonBody} may take. */
      bodyMemory: BodyMemory;
      /** Set when all of the body is read before Node has noticed its end. */
      bodyIsRead?: boolean;
    }
  }
}

/**
 * The JSON body of the request, validated as the DTO class that the parameter has as its type. It
 * is read only now, after the guards: nobody without a valid token gets a body read.
 */
export const JsonBody = createParamDecorator(async (_: unknown, context: ExecutionContext) => {
  const http = context.switchToHttp();
  return parseExactJson(decode(await readBody(http.getRequest(), http.getResponse())));
});

/** Tells every request how much of its body may be read. */
export function jsonBody(limits: BodyLimits) {
  const memory = new BodyMemory(limits);
  return (request: Request): void => {
    request.bodyMemory = memory;
  };
}

async function readBody(request: Request, response: Response): Promise<Buffer> {
  const { limits } = request.bodyMemory;
  if (!declaresBody(request)) throw new PlantStoreError('body-missing');
  const length = request.headers['content-length'];
  if (length !== undefined) {
    if (Number(length) > limits.bytes) throw tooLarge(limits);
    requireJson(request);
  }
  // The server hands over requests with this expectation unanswered (see http-server.ts). RFC 9110,
  // section 10.1.1: it is of HTTP/1.1 only.
  if (request.headers.expect !== undefined && request.httpVersion === '1.1') {
    response.writeContinue();
  }
  const body = await collect(request, response);
  if (body.length === 0) throw new PlantStoreError('body-missing');
  // Only the end of a chunked body tells whether there is one at all.
  requireJson(request);
  return body;
}

function collect(request: Request, response: Response): Promise<Buffer> | Buffer {
  // Most bodies have arrived together with the header fields: nothing to wait for.
  if (Number(request.headers['content-length']) === request.readableLength) {
    request.bodyIsRead = true;
    return request.read() as Buffer;
  }
  const { bodyMemory: memory } = request;
  const { limits } = memory;
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
      size += chunk.length;
      if (size > limits.bytes) return settle(() => reject(tooLarge(limits)));
      // What is not kept is read all the same: a client that is still sending would not see an answer. Once
      // the answer is out, or nobody is there, nothing would be given back.
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

function requireJson({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  if (type === undefined || headers['content-encoding'] !== undefined || !isUtf8Json(type)) {
    throw new PlantStoreError('unsupported-media-type');
  }
}

function isUtf8Json(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  try {
    const { essence, params } = new MIMEType(contentType);
    return (
      essence === 'application/json' && ['utf-8', null].includes(lowerCase(params.get('charset')))
    );
  } catch {
    return false;
  }
}

function lowerCase(text: string | null): string | null {
  return text === null ? null : text.toLowerCase();
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
