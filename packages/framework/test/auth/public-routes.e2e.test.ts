import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Module,
  Post,
  Req,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { IsString } from 'class-validator';
import type { Request } from 'express';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Observable } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  FrameworkModule,
  Public,
  RequestActor,
  RequestIdempotencyKey,
  RequestOrigin,
  RequestSignal,
  RequireScope,
} from '../../src/index.js';
import type { Actor, Origin } from '../../src/index.js';
import { ScopeCheck } from '../../src/auth/scopes/scope-check.js';
import { CONFIG } from '../../src/config/config.module.js';
import { LOGGER } from '../../src/observability/logger.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { RawSocket } from '../support/raw-socket.js';
import { TOKEN } from '../support/tokens.js';
import { runningService } from '../support/running-service.js';

/* Routes without a token, for which there is nobody whose token could be looked at again. */

/** Longer than the time after which the token of a request is verified once more, in milliseconds. */
const LONG = 1_300;

class NoteDto {
  @IsString()
  text!: string;
}

@Controller('open')
class OpenController {
  @Public()
  @Get('slow')
  async slow(@RequestSignal() signal: AbortSignal, @Req() request: Request): Promise<object> {
    await sleep(LONG);
    return { aborted: signal.aborted, principal: request.principal ?? null };
  }

  @Public()
  @Get('stream')
  stream(@RequestSignal() signal: AbortSignal): StreamableFile {
    const lines = async function* () {
      yield 'first\n';
      await sleep(LONG, undefined, { signal });
      yield 'last\n';
    };
    return new StreamableFile(Readable.from(lines()));
  }

  @Public()
  @Sse('events')
  events(@RequestSignal() signal: AbortSignal): Observable<{ data: string }> {
    return new Observable((subscriber) => {
      subscriber.next({ data: 'first' });
      const timer = setTimeout(() => {
        subscriber.next({ data: signal.aborted ? 'aborted' : 'last' });
        subscriber.complete();
      }, LONG);
      return () => clearTimeout(timer);
    });
  }

  @Public()
  @Post('notes')
  @HttpCode(200)
  note(@RequestSignal() _signal: AbortSignal, @Body() { text }: NoteDto): object {
    return { text };
  }
}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY)],
  providers: ENHANCERS,
  controllers: [OpenController],
})
class AppModule {}

const service = runningService(AppModule);
/** What nothing has caught: outside of tests, it would have ended the process. */
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);

beforeAll(() => void process.on('uncaughtExceptionMonitor', note));

afterAll(() => void process.off('uncaughtExceptionMonitor', note));

const CREDENTIALS = [undefined, `Bearer ${TOKEN}`, 'Bearer guessed', 'Basic abc'];

/** A request for each kind of credentials, all at once: each takes {@link LONG}. */
function withEach<Answer>(send: (authorization?: string) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(CREDENTIALS.map(send));
}

// Each waits, so all wait at once.
describe.concurrent('a public route, whatever credentials are sent,', () => {
  it.each([
    ['slow', '{"aborted":false,"principal":null}'],
    ['stream', 'first\nlast\n'],
    ['events', 'data: last\n'],
  ])('may use a signal for longer than a token goes unverified: %s', async (path, text) => {
    const answers = await withEach(async (authorization) => {
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const response = await fetch(`${service.url}/open/${path}`, { headers });
      return [response.status, await response.text()];
    });
    expect(answers).toEqual(CREDENTIALS.map(() => [200, expect.stringContaining(text)]));
    expect(uncaught).toEqual([]);
  });

  it('may read a body for as long', async () => {
    const answers = await withEach(async (authorization) => {
      const socket = await RawSocket.open(service.port);
      try {
        const field = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`;
        socket.send(
          `POST /open/notes HTTP/1.1\r\nHost: x\r\n${field}Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"text"`,
        );
        await sleep(LONG);
        socket.send(':"a"}');
        const { status, body } = await socket.answer();
        return [status, body];
      } finally {
        socket.destroy();
      }
    });
    expect(answers).toEqual(CREDENTIALS.map(() => [200, '{"text":"a"}']));
    expect(uncaught).toEqual([]);
  });
});

describe('the start', () => {
  class Base {
    @Post('inherited')
    @Public()
    inherited(@RequestOrigin() _actor: Origin): void {}

    @Post('overridden')
    @Public()
    overridden(@RequestActor() _actor: Actor): void {}
  }

  @Controller()
  class Wrong extends Base {
    @Get('undecided')
    undecided(): void {}

    @Get('both')
    @Public()
    @RequireScope('tools:read')
    both(): void {}

    @Public()
    @Post('actor')
    @RequireScope('tools:read')
    actor(@RequestSignal() _signal: AbortSignal, @RequestActor() _actor: Actor): void {}

    @Post('key')
    @Public()
    key(@RequestIdempotencyKey() _key: string | undefined): void {}

    @Post('overridden')
    @Public()
    override overridden(): void {}

    helper(@RequestActor() _actor: Actor): void {}
  }

  @Controller()
  class Right {
    @Post()
    @RequireScope('tools:read')
    actor(@RequestActor() _actor: Actor): void {}
  }

  async function init(controller: typeof Wrong | typeof Right): Promise<void> {
    const module = {
      imports: [DiscoveryModule],
      controllers: [controller],
      providers: [
        ScopeCheck,
        { provide: CONFIG, useValue: { auth: {} } },
        { provide: LOGGER, useValue: {} },
      ],
    };
    await (await Test.createTestingModule(module).compile()).init();
  }

  it('is refused with all mistakes at once, each by name', async () => {
    const failure: unknown = await init(Wrong).catch((error: unknown) => error);
    expect((failure as Error).message.split('\n').toSorted()).toEqual([
      'Wrong.actor is @Public(), so it cannot have @RequestActor(): it looks at no token',
      'Wrong.actor is @Public(), so it cannot have @RequireScope(): it looks at no token',
      'Wrong.both is @Public(), so it cannot have @RequireScope(): it looks at no token',
      'Wrong.inherited is @Public(), so it cannot have @RequestOrigin(): it looks at no token',
      'Wrong.key is @Public(), so it cannot have @RequestIdempotencyKey(): it looks at no token',
      'Wrong.undecided needs @RequireScope() or @Public()',
    ]);
    await expect(init(Right)).resolves.toBeUndefined();
  });
});
