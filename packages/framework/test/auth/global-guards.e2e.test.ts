import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Post,
  Scope,
} from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { APP_GUARD, REQUEST } from '@nestjs/core';
import { IsString } from 'class-validator';
import type { Request } from 'express';
import { beforeEach, describe, expect, it } from 'vitest';
import { FrameworkModule, Public, RequireScope } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { TOKEN } from '../support/tokens.js';
import { runningService } from '../support/running-service.js';

/* The global guards of a service, in whatever module they are. */

/** The guards that have run, and whom they have seen. */
let seen: string[] = [];

function note(name: string, { principal }: Request): true {
  seen.push(`${name}: ${principal?.id}`);
  return true;
}

function guard(name: string) {
  @Injectable()
  class Noting implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      return note(name, context.switchToHttp().getRequest<Request>());
    }
  }
  return Noting;
}

@Injectable({ scope: Scope.REQUEST })
class RequestScoped implements CanActivate {
  constructor(@Inject(REQUEST) private readonly request: Request) {}

  canActivate(): boolean {
    return note('request-scoped', this.request);
  }
}

/** What Nest's documentation shows: a guard that looks at the user. */
@Injectable()
class Blocking implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return headers['x-blocked'] === undefined;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: guard('before') }] })
class BeforeModule {}

const Existing = guard('existing');

@Module({
  providers: [
    Existing,
    { provide: APP_GUARD, useExisting: Existing },
    { provide: APP_GUARD, useFactory: () => new (guard('factory'))() },
    { provide: APP_GUARD, useValue: new (guard('value'))() },
  ],
})
class AfterModule {}

class NoteDto {
  @IsString()
  text!: string;
}

@Controller('notes')
class NotesController {
  @Post()
  @HttpCode(200)
  @RequireScope('tools:write')
  create(@Body() { text }: NoteDto): object {
    return { text };
  }

  @Get()
  @Public()
  read(): object {
    return {};
  }
}

@Module({
  imports: [BeforeModule, FrameworkModule.forRoot(IDENTITY), AfterModule],
  controllers: [NotesController],
  providers: [
    ...ENHANCERS,
    { provide: APP_GUARD, useClass: guard('root') },
    { provide: APP_GUARD, useClass: RequestScoped },
    { provide: APP_GUARD, useClass: Blocking },
  ],
})
class AppModule {}

const GUARDS = ['before', 'existing', 'factory', 'request-scoped', 'root', 'value'];

const service = runningService(AppModule);

beforeEach(() => {
  seen = [];
});

async function send(method: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${service.url}/notes`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(method === 'POST' && { body: '{"text":"a"}' }),
  });
  return { status: response.status, body: await response.json() };
}

const CREDENTIALS = { Authorization: `Bearer ${TOKEN}` };

describe('the global guards of a service', () => {
  it('see who sends the request', async () => {
    expect(await send('POST', CREDENTIALS)).toEqual({ status: 200, body: { text: 'a' } });
    expect(seen.toSorted()).toEqual(GUARDS.map((name) => `${name}: AUTH_TOKEN`));
  });

  it.each([{}, { Authorization: 'Bearer guessed' }])(
    'do not see a request without a valid token: %j',
    async (headers) => {
      expect(await send('POST', headers)).toMatchObject({ status: 401 });
      expect(seen).toEqual([]);
    },
  );

  it('see that nobody is known on a public route, whatever token is sent', async () => {
    for (const headers of [{}, CREDENTIALS]) {
      expect(await send('GET', headers)).toEqual({ status: 200, body: {} });
      expect(seen.toSorted()).toEqual(GUARDS.map((name) => `${name}: undefined`));
      seen = [];
    }
  });

  it('refuse with an answer that does not speak of scopes', async () => {
    expect(await send('POST', { ...CREDENTIALS, 'X-Blocked': '1' })).toEqual({
      status: 403,
      body: { error: 40319, message: 'Forbidden resource' },
    });
  });
});
