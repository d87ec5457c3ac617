import {
  Catch,
  Controller,
  Get,
  Module,
  Param,
  Version,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter, Type } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { createDetachedApp } from '../../src/app/detached-app.js';
import { FrameworkModule, Int64Pipe, RequireScope } from '../../src/index.js';
import { createTestingService } from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

/* What `main.ts` does to an application in Nest's documentation. */

class TeapotError extends Error {}

@Catch(TeapotError)
class TeapotFilter implements ExceptionFilter {
  catch(_error: TeapotError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ teapot: true });
  }
}

@Controller({ path: 'tools', version: '1' })
class ToolsController {
  @Get()
  @RequireScope('tools:read')
  list(): readonly string[] {
    return ['Hammer'];
  }

  @Get('teapot')
  @RequireScope('tools:read')
  teapot(): never {
    throw new TeapotError();
  }
}

@Controller({ path: 'tools', version: '2' })
class NewToolsController {
  @Get()
  @RequireScope('tools:read')
  list(): readonly object[] {
    return [{ name: 'Hammer' }];
  }

  @Get(':id')
  @RequireScope('tools:read')
  find(@Param('id', Int64Pipe) id: bigint): object {
    return { id };
  }
}

@Controller({ path: 'about', version: VERSION_NEUTRAL })
class AboutController {
  @Get()
  @RequireScope('tools:read')
  about(): object {
    return { about: 'tools' };
  }
}

function noindex(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('X-Robots-Tag', 'noindex');
  next();
}

function appOf(
  configure: NonNullable<Parameters<typeof FrameworkModule.forRoot>[1]>['configure'],
  controllers: Type[],
): Type {
  @Module({
    imports: [FrameworkModule.forRoot(IDENTITY, configure && { configure })],
    providers: ENHANCERS,
    controllers,
  })
  class AppModule {}
  return AppModule;
}

const CONTROLLERS = [ToolsController, NewToolsController, AboutController];

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY, {
      configure: (app) => {
        app.enableVersioning({ type: VersioningType.URI });
        app.useGlobalFilters(new TeapotFilter());
        app.use(noindex);
      },
    }),
  ],
  providers: ENHANCERS,
  controllers: CONTROLLERS,
})
class AppModule {}

beforeAll(() => {
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  return () => vi.unstubAllEnvs();
});

async function mistakesOf(app: Type): Promise<readonly string[]> {
  try {
    await (await createDetachedApp(app)).close();
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

describe('a configured service', () => {
  it('has versions, middleware and filters, below the path of its public address', async () => {
    const service = await createTestingService(AppModule, {
      PUBLIC_BASE_URL: 'http://localhost/api',
    });
    expect(await service.send('GET', '/v1/tools')).toMatchObject({ status: 200, body: ['Hammer'] });
    const { status, body, headers } = await service.send('GET', '/v2/tools');
    expect({ status, body }).toEqual({ status: 200, body: [{ name: 'Hammer' }] });
    expect(headers.get('X-Robots-Tag')).toBe('noindex');
    expect(await service.send('GET', '/about')).toMatchObject({ status: 200 });
    expect(await service.send('GET', '/v1/tools/teapot')).toMatchObject({ status: 418 });
    expect(await service.send('GET', '/tools')).toMatchObject({ body: { error: 40400 } });
    expect(await service.send('POST', '/v2/tools')).toMatchObject({ body: { error: 40500 } });
    expect(await service.send('GET', '/v2/tools/x')).toMatchObject({ body: { error: 40004 } });
    const document = await service.send('GET', '/openapi.json');
    expect(Object.keys((document.body as { readonly paths: object }).paths).toSorted()).toEqual([
      '/about',
      '/v1/tools',
      '/v1/tools/teapot',
      '/v2/tools',
      '/v2/tools/{id}',
    ]);
    await service.stop();
  });
});

describe('the start', () => {
  it('rejects a version that Nest would ignore, of a class or of a method', async () => {
    @Controller('notes')
    class NotesController {
      @Get()
      @Version('2')
      @RequireScope('tools:read')
      list(): void {}
    }
    const needed =
      'has a version, which needs FrameworkModule.forRoot(…, { configure: (app) => app.enableVersioning(…) })';
    expect(await mistakesOf(appOf(undefined, [...CONTROLLERS, NotesController]))).toEqual([
      `ToolsController ${needed}`,
      `NewToolsController ${needed}`,
      `NotesController.list ${needed}`,
    ]);
    expect(await mistakesOf(appOf(undefined, [AboutController]))).toEqual([]);
  });

  it('rejects a prefix that the document would not have', async () => {
    const app = appOf((each) => each.setGlobalPrefix('api'), [AboutController]);
    expect(await mistakesOf(app)).toEqual([
      'configure must not set a global prefix: the path of PUBLIC_BASE_URL is the prefix',
    ]);
  });
});
