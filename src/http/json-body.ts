import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { parseExactJson } from './exact-json.js';
import { declaresBody } from './unread-body.js';

export interface BodyLimits {
  /** Longest body, in bytes. */
  readonly bytes: number;
  /** Longest pause between two pieces of a body, in milliseconds. */
  readonly idleMilliseconds: number;
}

declare global {
  namespace Express {
    interface Request {
      /** What {@link JsonBody} reads at most. */
      bodyLimits: BodyLimits;
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
  return (request: Request): void => {
    request.bodyLimits = limits;
  };
}

async function readBody(request: Request, response: Response): Promise<Buffer> {
  const { bodyLimits: limits } = request;
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
  const body = await collect(request, limits);
  if (body.length === 0) throw new PlantStoreError('body-missing');
  // Only the end of a chunked body tells whether there is one at all.
  requireJson(request);
  return body;
}

function collect(request: Request, limits: BodyLimits): Promise<Buffer> | Buffer {
  // Most bodies have arrived together with the header fields: nothing to wait for.
  if (Number(request.headers['content-length']) === request.readableLength) {
    request.bodyIsRead = true;
    return request.read() as Buffer;
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const idle = setTimeout(
      () => settle(() => reject(new PlantStoreError('request-timeout'))),
      limits.idleMilliseconds,
    );
    const onData = (chunk: Buffer) => {
      idle.refresh();
      size += chunk.length;
      if (size > limits.bytes) settle(() => reject(tooLarge(limits)));
      else chunks.push(chunk);
    };
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks, size)));
    const onError = (error: Error) => settle(() => reject(error));
    const settle = (outcome: () => void) => {
      clearTimeout(idle);
      request.off('data', onData).off('end', onEnd).off('error', onError).pause();
      // An aborted request emits one more error, which must find a listener.
      request.on('error', () => {});
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('error', onError);
  });
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
