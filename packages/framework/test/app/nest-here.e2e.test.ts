import { Controller, Get, Injectable, Ip, Module, Redirect, Scope } from '@nestjs/common';
import type { CallHandler, MiddlewareConsumer, NestInterceptor, NestModule } from '@nestjs/common';
import { APP_INTERCEPTOR, ModuleRef, RouterModule } from '@nestjs/core';
import type { Request, Response } from 'express';
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { expect, it } from 'vitest';
import { FrameworkModule, RequireScope } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { runningService } from '../support/running-service.js';
import { TOKEN } from '../support/tokens.js';

/* What docs/framework/nest.md says of Nest and no other test shows. */

@Injectable({ scope: Scope.REQUEST })
class OfRequest {
  readonly since = performance.now();
}

@Injectable()
class Wrapper implements NestInterceptor {
  intercept(_: unknown, next: CallHandler<object>): Observable<object> {
    return next.handle().pipe(map((data) => ({ data })));
  }
}

@Controller()
class CatsController {
  constructor(
    private readonly ofRequest: OfRequest,
    private readonly modules: ModuleRef,
  ) {}

  @Get()
  @RequireScope('cats:read')
  all(@Ip() ip: string) {
    const { since } = this.ofRequest;
    return { ip, since, hasProvider: this.modules.get(Names, { strict: false }).all };
  }

  @Get('old')
  @Redirect('/pets/cats', 301)
  @RequireScope('cats:read')
  old(): void {}
}

@Injectable()
class Names {
  readonly all = ['Tom'];
}

@Module({ controllers: [CatsController], providers: [OfRequest, Names] })
class CatsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((_: Request, response: Response, next: () => void) => {
        response.setHeader('X-Middleware', 'yes');
        next();
      })
      .forRoutes(CatsController);
  }
}

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY),
    CatsModule,
    RouterModule.register([{ path: 'pets/cats', module: CatsModule }]),
  ],
  providers: [...ENHANCERS, { provide: APP_INTERCEPTOR, useClass: Wrapper }],
})
class AppModule {}

const service = runningService(AppModule);

it('has paths of RouterModule, middleware of modules, global interceptors and scopes of requests', async () => {
  const [one, other] = [
    await service.send('GET', '/pets/cats'),
    await service.send('GET', '/pets/cats'),
  ];
  expect([one.status, one.headers.get('X-Middleware')]).toEqual([200, 'yes']);
  const { data } = JSON.parse(one.text) as { readonly data: Readonly<Record<string, unknown>> };
  expect(data).toEqual({
    ip: expect.stringContaining('127.0.0.1'),
    since: expect.any(Number),
    hasProvider: ['Tom'],
  });
  expect(other.text).not.toBe(one.text);
});

it('redirects', async () => {
  const moved = await fetch(`${service.url}/pets/cats/old`, {
    redirect: 'manual',
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  expect([moved.status, moved.headers.get('Location')]).toEqual([301, '/pets/cats']);
});
