import { Body, Catch, Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { IsString } from 'class-validator';
import type { Response } from 'express';
import { expect, it } from 'vitest';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule, RequireScope } from '../../src/index.js';
import { IDENTITY } from '../support/identity.js';
import { TOKEN } from '../support/tokens.js';
import { runningService } from '../support/running-service.js';

/* Filters of a service for errors of its own, as in Nest's documentation. */

class TeapotError extends Error {}

class MeterError extends Error {}

@Catch(TeapotError)
class TeapotFilter implements ExceptionFilter {
  catch(_error: TeapotError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ teapot: true });
  }
}

@Catch(MeterError)
class MeterFilter implements ExceptionFilter {
  catch(_error: MeterError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(402).json({ paid: false });
  }
}

class NoteDto {
  @IsString()
  text!: string;
}

@Controller('errors')
class ErrorsController {
  @Get('teapot')
  @RequireScope('errors:read')
  teapot(): never {
    throw new TeapotError();
  }

  @Get('meter')
  @RequireScope('errors:read')
  meter(): never {
    throw new MeterError();
  }

  @Post('notes')
  @HttpCode(200)
  @RequireScope('errors:write')
  note(@Body() { text }: NoteDto): never {
    throw new Error(text);
  }
}

@Module({ providers: [{ provide: APP_FILTER, useClass: MeterFilter }] })
class MeterModule {}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), MeterModule],
  controllers: [ErrorsController],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_FILTER, useClass: TeapotFilter },
  ],
})
class AppModule {}

const service = runningService(AppModule);

async function send(method: string, path: string, body?: string, token = TOKEN) {
  const headers = { Authorization: `Bearer ${token}` };
  const { status, text } = await service.send(method, path, body, headers);
  return { status, body: JSON.parse(text) as unknown };
}

it.each([
  ['of the application', '/errors/teapot', { status: 418, body: { teapot: true } }],
  ['of a module', '/errors/meter', { status: 402, body: { paid: false } }],
])('a filter %s answers its errors', async (_, path, response) => {
  expect(await send('GET', path)).toEqual(response);
});

it.each([
  ['of a path', 'GET', '/nowhere', undefined, 404, 40400],
  ['of a token', 'GET', '/errors/teapot', undefined, 401, 40101],
  ['of a body', 'POST', '/errors/notes', '{}', 400, 40003],
  ['that nobody expected', 'POST', '/errors/notes', '{"text":"a"}', 500, 50000],
])('the framework answers errors %s', async (_, method, path, body, status, error) => {
  const token = status === 401 ? 'guessed' : TOKEN;
  expect(await send(method, path, body, token)).toMatchObject({ status, body: { error } });
});
