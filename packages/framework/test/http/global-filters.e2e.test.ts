import { Body, Catch, Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { IsString } from 'class-validator';
import type { Response } from 'express';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule, RequireScope } from '../../src/index.js';
import type { Service } from '../../src/app/service.js';
import { IDENTITY } from '../support/identity.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

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

let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await start(AppModule, database);
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

async function send(method: string, path: string, body?: string, token = TOKEN) {
  const response = await fetch(`http://127.0.0.1:${service.address.port}${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body }),
  });
  return { status: response.status, body: await response.json() };
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
