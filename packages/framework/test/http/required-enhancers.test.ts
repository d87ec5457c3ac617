import { Injectable, Module, Scope } from '@nestjs/common';
import type { CanActivate, ExceptionFilter, PipeTransform, Provider, Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import { createDetachedApp } from '../../src/app/detached-app.js';
import { AuthGuard, DtoPipe, ErrorFilter, FrameworkModule, StartupError } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

/* The guard, the pipe and the filter that an application lists itself. */

class OtherGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

class OtherPipe implements PipeTransform {
  transform(value: unknown): unknown {
    return value;
  }
}

class OtherFilter implements ExceptionFilter {
  catch(): void {}
}

@Injectable()
class StricterGuard extends AuthGuard {}

@Injectable({ scope: Scope.REQUEST })
class RequestGuard extends AuthGuard {}

class OwnPipe extends DtoPipe {}

class OwnFilter extends ErrorFilter {}

@Module({
  providers: [
    { provide: APP_GUARD, useClass: OtherGuard },
    { provide: APP_PIPE, useClass: OtherPipe },
    { provide: APP_FILTER, useClass: OtherFilter },
  ],
})
class OtherModule {}

function appWith(...providers: Provider[]): Type {
  @Module({ imports: [OtherModule, FrameworkModule.forRoot(IDENTITY)], providers })
  class AppModule {}
  return AppModule;
}

async function mistakesOf(...providers: Provider[]): Promise<readonly string[]> {
  try {
    await (await createDetachedApp(appWith(...providers))).close();
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.message.split('\n');
  }
}

const GUARD = 'AppModule lacks { provide: APP_GUARD, useClass: AuthGuard } in its providers';
const PIPE = 'AppModule lacks { provide: APP_PIPE, useClass: DtoPipe } in its providers';
const FILTER = 'AppModule lacks { provide: APP_FILTER, useClass: ErrorFilter } in its providers';

const [PROVIDED_GUARD, PROVIDED_PIPE, PROVIDED_FILTER] = ENHANCERS as [
  Provider,
  Provider,
  Provider,
];

describe('an application', () => {
  it('that lists none of the three is told all lines that it lacks', async () => {
    expect(await mistakesOf()).toEqual([GUARD, PIPE, FILTER]);
  });

  it.each([
    [GUARD, [PROVIDED_PIPE, PROVIDED_FILTER]],
    [PIPE, [PROVIDED_GUARD, PROVIDED_FILTER]],
    [FILTER, [PROVIDED_GUARD, PROVIDED_PIPE]],
  ])('that forgets one is told: %s', async (mistake, providers) => {
    expect(await mistakesOf(...providers)).toEqual([mistake]);
  });

  it.each([
    ['APP_GUARD', 'AuthGuard', { provide: APP_GUARD, useClass: OtherGuard }],
    ['APP_PIPE', 'DtoPipe', { provide: APP_PIPE, useClass: OtherPipe }],
    ['APP_FILTER', 'ErrorFilter', { provide: APP_FILTER, useClass: OtherFilter }],
  ])('does not start with another provider of %s before %s', async (token, name, other) => {
    expect(await mistakesOf(other, ...ENHANCERS)).toEqual([
      `AppModule must list { provide: ${token}, useClass: ${name} } before all other providers of ${token}`,
    ]);
    expect(await mistakesOf(...ENHANCERS, other)).toEqual([]);
  });

  it('may list subclasses, and provide them in any way', async () => {
    expect(
      await mistakesOf(
        StricterGuard,
        { provide: APP_GUARD, useExisting: StricterGuard },
        { provide: APP_PIPE, useFactory: () => new OwnPipe() },
        { provide: APP_FILTER, useClass: OwnFilter },
      ),
    ).toEqual([]);
  });

  it('cannot make its AuthGuard for each request, because guards of other modules would run before', async () => {
    const guard = { provide: APP_GUARD, useClass: RequestGuard };
    expect(await mistakesOf(guard, PROVIDED_PIPE, PROVIDED_FILTER)).toEqual([GUARD]);
  });
});
