import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Req,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { Type } from 'class-transformer';
import { IsInt, IsString, Max } from 'class-validator';
import type { Request, Response } from 'express';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { RequireScope } from '../../src/auth/scopes/require-scope.decorator.js';
import { AppModule } from '../support/tool-library.js';
import { DtoArrayPipe } from '../../src/http/body/dto.pipe.js';
import { CONFIG } from '../../src/config/config.module.js';
import { setUp } from '../../src/app/app.setup.js';
import { readConfig, withDatabase } from '../../src/config/config.js';
import { HTTP_LIMITS } from '../../src/http/server/limits.js';
import { ServiceAdapter } from '../../src/http/server/service.adapter.js';
import { Metrics } from '../../src/observability/metrics.js';
import { NO_TRACER } from '../../src/observability/tracer.js';
import { PATIENCE } from '../support/patience.js';
import { TOKEN } from '../support/tokens.js';
import { LOGGER } from '../../src/observability/logger.js';
import { IDENTITY } from '../support/identity.js';

/* A feature as in Nest's documentation, in an application of this service. */

class CreateCatDto {
  @IsString()
  name!: string;

  @IsInt()
  age!: number;
}

class ListCatsDto {
  @IsString()
  breed!: string;

  @Type(() => Number)
  @IsInt()
  @Max(100)
  limit = 10;
}

interface Cat {
  readonly name: string;
}

let endless: Readable;
let folder: string;

@Controller('cats')
class CatsController {
  @RequireScope('cats:read')
  @Post()
  create(@Body() cat: CreateCatDto, @Req() { method }: Request) {
    return { cat, isCat: cat instanceof CreateCatDto, method };
  }

  @RequireScope('cats:read')
  @Post('named')
  createNamed(@Body('name') name: string) {
    return { name };
  }

  @RequireScope('cats:read')
  @Post('untyped')
  createUntyped(@Body() cat: Cat) {
    return { cat };
  }

  @RequireScope('cats:read')
  @Post('twice')
  createTwice(@Body() one: CreateCatDto, @Body() other: CreateCatDto) {
    return { one, other };
  }

  @RequireScope('cats:read')
  @Post('many')
  createMany(@Body(new DtoArrayPipe(CreateCatDto)) cats: CreateCatDto[]) {
    return cats.map((cat) => ({ cat, isCat: cat instanceof CreateCatDto }));
  }

  @RequireScope('cats:read')
  @Get()
  list(@Query() query: ListCatsDto) {
    return query;
  }

  @RequireScope('cats:read')
  @Delete('all')
  @HttpCode(204)
  removeAll(): void {}

  @RequireScope('cats:read')
  @Get('null')
  none() {
    return null;
  }

  @RequireScope('cats:read')
  @Get('text')
  text() {
    return 'This action returns all cats';
  }

  @RequireScope('cats:read')
  @Get('list')
  names() {
    return ['Tom', 'Kitty'];
  }

  @RequireScope('cats:read')
  @Get('chip')
  chip() {
    return { chip: 2n ** 63n - 1n };
  }

  @RequireScope('cats:read')
  @Get('problem')
  @Header('Content-Type', 'application/problem+json')
  problem() {
    return { title: 'Hungry' };
  }

  @RequireScope('cats:read')
  @Get('file')
  file() {
    return new StreamableFile(Buffer.from('meow'), {
      type: 'audio/cat',
      disposition: 'attachment; filename="cat.txt"',
    });
  }

  @RequireScope('cats:read')
  @Get('file/missing')
  missingFile() {
    return new StreamableFile(createReadStream('/no/such/file'), { length: 4, disposition: 'x' });
  }

  @RequireScope('cats:read')
  @Get('file/broken')
  brokenFile() {
    const purr = function* () {
      yield 'purr';
      throw new Error('hissing secret');
    };
    return new StreamableFile(Readable.from(purr()));
  }

  @RequireScope('cats:read')
  @Get('file/endless')
  endlessFile() {
    endless = new Readable({
      read() {
        this.push(Buffer.alloc(1_024));
      },
    });
    return new StreamableFile(endless);
  }

  @RequireScope('cats:read')
  @Get('disk/:name')
  onDisk(@Param('name') name: string, @Res() response: Response): void {
    response.sendFile(name, { root: folder, dotfiles: 'deny' });
  }

  @RequireScope('cats:read')
  @Get('disk/:name/download')
  download(@Param('name') name: string, @Res() response: Response): Promise<void> {
    return new Promise((resolve, reject) => {
      response.download(name, name, { root: folder }, (error?: Error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** Of the service, for itself. */
  @RequireScope('cats:read')
  @Get('settings')
  settings() {
    return stat('/no/such/secret');
  }

  @RequireScope('cats:read')
  @Get('failures/:name')
  fail(@Param('name') name: string) {
    throw new ConflictException(`There is another ${name}`);
  }

  @RequireScope('cats:read')
  @Get('missing')
  missing() {
    throw new NotFoundException('There is no Tom');
  }

  /** The answer of somebody else's server, as clients of HTTP throw it. */
  @RequireScope('cats:read')
  @Get('elsewhere/:status')
  async elsewhere(@Param('status') status: string) {
    await Promise.reject(
      Object.assign(new Error(`Request failed with status code ${status}`), {
        status: Number(status),
        response: { status: Number(status), data: { message: 'secret' } },
      }),
    );
  }

  @RequireScope('cats:read')
  @Post('picture')
  @UseInterceptors(FileInterceptor('picture', { limits: { fileSize: 3 } }))
  picture() {
    return { isKept: true };
  }

  @RequireScope('cats:read')
  @Post('failures/report')
  report(): void {}

  @RequireScope('cats:read')
  @Get('numbered/:id')
  @Header('Content-Type', 'text/csv')
  numbered(@Param('id', ParseIntPipe) id: number) {
    return String(id);
  }
}

let app: NestExpressApplication;
let url: string;
let log: Record<string, unknown>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secret-'));
  await writeFile(join(folder, 'cat.txt'), 'meow');
  const config = withDatabase(
    readConfig(IDENTITY, { AUTH_TOKEN: TOKEN, DOCS_ENABLED: 'false' }),
    'postgres://127.0.0.1:1/none',
  );
  const logger = pino(
    { level: 'debug' },
    { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const observability = { logger, metrics: new Metrics(IDENTITY), tracer: NO_TRACER };
  const module = await Test.createTestingModule({
    imports: [AppModule],
    controllers: [CatsController],
  })
    .overrideProvider(CONFIG)
    .useValue(config)
    .overrideProvider(LOGGER)
    .useValue(logger)
    .compile();
  app = module.createNestApplication<NestExpressApplication>(
    new ServiceAdapter({ ...HTTP_LIMITS, keepAlive: 5_000 }, observability),
    { bodyParser: false },
  );
  setUp(app, config, observability, HTTP_LIMITS);
  await app.listen(0, '127.0.0.1');
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/cats`;
});

afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

beforeEach(() => {
  log = [];
});

function request(
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<globalThis.Response> {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${TOKEN}`);
  return fetch(url + path, { ...init, method, headers });
}

function post(path: string, body: string): Promise<globalThis.Response> {
  return request('POST', path, { body, headers: { 'Content-Type': 'application/json' } });
}

describe('a file that Express sends', () => {
  it.each(['/disk/cat.txt', '/disk/cat.txt/download'])('%s is the response', async (path) => {
    const response = await request('GET', path);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('meow');
    expect((await request('GET', path, { headers: { Range: 'bytes=0-1' } })).status).toBe(206);
  });

  it.each([
    ['that is missing', '/disk/dog.txt', 40419, 'Not Found'],
    ['to save, that is missing', '/disk/dog.txt/download', 40419, 'Not Found'],
    ['below a file', '/disk/cat.txt%2fdog/download', 40419, 'Not Found'],
    ['with a name that is too long', `/disk/${'x'.repeat(300)}`, 40419, 'Not Found'],
    ['that is hidden', '/disk/.cat', 40319, 'Forbidden'],
    ['that is hidden, to save', '/disk/.cat/download', 40419, 'Not Found'],
    ['outside the folder', '/disk/..%2f..%2fetc%2fpasswd', 40319, 'Forbidden'],
    ['with a name that no file has', '/disk/a%00b', 40000, 'Bad Request'],
  ])('%s is an error of the client', async (_, path, error, message) => {
    const response = await request('GET', path);
    expect(response.status).toBe(Math.trunc(error / 100));
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('content-disposition')).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({ error, message });
    expect(log.filter(({ err }) => err !== undefined)).toEqual([]);
  });

  it('has no such range, and is not saved under its name then', async () => {
    const saved = await request('GET', '/disk/cat.txt/download', {
      headers: { Range: 'bytes=4-' },
    });
    expect(saved.status).toBe(416);
    expect(saved.headers.get('content-disposition')).toBeNull();
    const response = await request('GET', '/disk/cat.txt', { headers: { Range: 'bytes=4-' } });
    expect(response.status).toBe(416);
    expect(response.headers.get('content-range')).toBe('bytes */4');
    for (const name of ['accept-ranges', 'etag', 'last-modified']) {
      expect(response.headers.get(name)).toBeNull();
    }
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({ error: 41600, message: 'Range Not Satisfiable' });
  });

  it('was another one before', async () => {
    const response = await request('GET', '/disk/cat.txt', { headers: { 'If-Match': '"dog"' } });
    expect(response.status).toBe(412);
    expect(await response.json()).toEqual({ error: 41219, message: 'Precondition Failed' });
  });

  it('is not what the service reads for itself', async () => {
    const response = await request('GET', '/settings');
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
  });
});

describe('@Body()', () => {
  it('is the validated DTO', async () => {
    const answer = await post('', '{ "name": "Tom", "age": 3.0, "other": 1 }');
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual({
      cat: { name: 'Tom', age: 3 },
      isCat: true,
      method: 'POST',
    });
  });

  it('that is not valid is refused, with each mistake', async () => {
    const answer = await post('', '{"age":0.5}');
    expect(answer.status).toBe(400);
    const message = 'name is missing; age must be an integer number';
    expect(await answer.json()).toEqual({ error: 40003, message });
  });

  it('is an array of validated DTOs with DtoArrayPipe', async () => {
    const answer = await post(
      '/many',
      '[{"name":"Tom","age":3,"isCat":false},{"name":"Kitty","age":4.0}]',
    );
    expect(await answer.json()).toEqual([
      { cat: { name: 'Tom', age: 3 }, isCat: true },
      { cat: { name: 'Kitty', age: 4 }, isCat: true },
    ]);
    for (const body of [
      '[{"name":"Tom","age":0.5}]',
      '[7]',
      '[null]',
      '["{}"]',
      '{"name":"Tom","age":3}',
      '"a,b"',
      '7',
    ]) {
      expect((await post('/many', body)).status).toBe(400);
    }
  });

  it.each([
    ['/named', /whole/],
    ['/untyped', /whole/],
    ['/twice', /only one parameter/],
  ])('of %s, which cannot work, is a 500 with the remedy in the log', async (path, hint) => {
    const answer = await post(path, '{"name":"Tom","age":3}');
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: 50000 });
    expect(log).toContainEqual(
      expect.objectContaining({
        err: expect.objectContaining({
          type: 'TypeError',
          message: expect.stringMatching(hint) as string,
        }) as object,
      }),
    );
  });
});

describe('@Query()', () => {
  it('is the validated DTO', async () => {
    const answer = await request('GET', '?breed=Manx&limit=5&other=1');
    expect(await answer.json()).toEqual({ breed: 'Manx', limit: 5 });
    expect(await (await request('GET', '?breed=')).json()).toEqual({ breed: '', limit: 10 });
  });

  it.each([
    ['', 'breed is missing'],
    ['?breed=a&breed=b', 'breed must be a string'],
    ['?breed=a&limit=101', 'limit must not be greater than 100'],
    [
      '?breed=a&limit=5&limit=6',
      'limit must not be greater than 100; limit must be an integer number',
    ],
    ['?breed=a&limit=x', 'limit must not be greater than 100; limit must be an integer number'],
    ['?__proto__=a&constructor=b', 'breed is missing'],
  ])('%s is refused with the parameter and its rule', async (query, message) => {
    const answer = await request('GET', query);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error: 40004, message });
  });
});

describe('a parameter', () => {
  it('may have a pipe of Nest, whose exceptions become an Error', async () => {
    const answer = await request('GET', '/numbered/x');
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toMatchObject({ error: 40000, message: /numeric string/ });
  });
});

describe('a path without parameters', () => {
  it('is not taken for a path with any parameter', async () => {
    const answer = await request('GET', '/failures/report');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('OPTIONS, POST');
    expect((await request('GET', '/failures/gone')).status).toBe(409);
  });
});

describe('a handler', () => {
  it.each([
    ['DELETE', '/all', 204, '', null],
    ['GET', '/null', 200, '', null],
    ['GET', '/text', 200, 'This action returns all cats', 'text/html; charset=utf-8'],
    ['GET', '/numbered/7', 200, '7', 'text/csv; charset=utf-8'],
    ['GET', '/list', 200, '["Tom","Kitty"]', 'application/json'],
    ['GET', '/chip', 200, '{"chip":9223372036854775807}', 'application/json'],
    ['GET', '/problem', 200, '{"title":"Hungry"}', 'application/problem+json'],
    ['HEAD', '/list', 200, '', 'application/json'],
    ['HEAD', '/problem', 200, '', 'application/problem+json'],
    ['HEAD', '/file', 200, '', 'audio/cat'],
    ['GET', '/file', 200, 'meow', 'audio/cat'],
  ])('may answer %s %s with %i %j', async (method, path, status, body, type) => {
    const answer = await request(method, path);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toBe(body);
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('whose file cannot be read is answered with an Error', async () => {
    const answer = await request('GET', '/file/missing');
    expect(answer.status).toBe(500);
    expect(answer.headers.get('content-disposition')).toBeNull();
    expect(await answer.json()).toEqual({
      error: 50000,
      message: 'the service failed to handle the request',
    });
    expect(log).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ code: 'ENOENT' }) as object }),
    );
  });

  it('whose stream fails cuts the answer short', async () => {
    const answer = await request('GET', '/file/broken');
    await expect(answer.text()).rejects.toThrow('terminated');
    expect(log).toContainEqual(
      expect.objectContaining({
        err: expect.objectContaining({ message: 'hissing secret' }) as object,
      }),
    );
    expect((await request('GET', '/list')).status).toBe(200);
  });

  it('has its stream destroyed when the client disconnects', async () => {
    const controller = new AbortController();
    await request('GET', '/file/endless', { signal: controller.signal });
    expect(endless.destroyed).toBe(false);
    controller.abort();
    await vi.waitUntil(() => endless.destroyed, PATIENCE);
  });

  it('may throw an exception of Nest', async () => {
    const answer = await request('GET', '/failures/Tom');
    expect(answer.status).toBe(409);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual({ error: 40900, message: 'There is another Tom' });
  });

  it('that finds nothing says so, unlike a path that does not exist', async () => {
    const missing = await request('GET', '/missing');
    expect(missing.status).toBe(404);
    expect(await missing.json()).toEqual({ error: 40419, message: 'There is no Tom' });
    const nowhere = await request('GET', '/nowhere/else');
    expect(nowhere.status).toBe(404);
    expect(await nowhere.json()).toEqual({ error: 40400, message: 'the path does not exist' });
    expect(log.filter(({ err }) => err !== undefined)).toEqual([]);
  });

  it('may fail because another server refuses, which is a 500 with a line in the log', async () => {
    for (const status of [400, 401, 404, 422, 429, 503]) {
      const answer = await request('GET', `/elsewhere/${status}`);
      expect(answer.status).toBe(500);
      const message = 'the service failed to handle the request';
      expect(await answer.json()).toEqual({ error: 50000, message });
    }
    // One line for all: they have the same cause.
    expect(log.filter(({ err }) => err !== undefined)).toMatchObject([
      { error: 50000, err: { message: 'Request failed with status code 400' } },
    ]);
  });

  it('may take files, and refuses longer ones', async () => {
    const send = async (text: string) => {
      const body = new FormData();
      body.append('picture', new Blob([text]), 'tom.txt');
      const answer = await request('POST', '/picture', { body });
      return [answer.status, await answer.json()];
    };
    expect(await send('Tom')).toEqual([201, { isKept: true }]);
    expect(await send('Kitty')).toEqual([413, { error: 41319, message: 'File too large' }]);
  });

  it('is not reached by a path that cannot be decoded', async () => {
    const answer = await request('GET', '/failures/%FF');
    expect(answer.status).toBe(400);
    const message = 'the request is malformed';
    expect(await answer.json()).toEqual({ error: 40000, message });
  });

  it('is behind the guard', async () => {
    const answer = await fetch(`${url}/list`);
    expect(answer.status).toBe(401);
  });
});
