import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it, vi } from 'vitest';
import { createDetachedApp } from '../../src/app/detached-app.js';
import { serviceModuleOf } from '../../src/app/framework.module.js';
import { FrameworkModule, InjectVariables, provideVariables, variable } from '../../src/index.js';
import type { Variables } from '../../src/index.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { createTestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

const VARIABLES = {
  SENDER: variable.text({ description: 'Sender of mails.', default: 'nobody' }),
};

@Injectable()
class Mailer {
  constructor(@InjectVariables() readonly variables: Variables<typeof VARIABLES>) {}
}

@Module({ providers: [Mailer, provideVariables(VARIABLES)] })
class MailModule {}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), MailModule], providers: ENHANCERS })
class AppModule {}

describe('the variables of a module', () => {
  it('are variables of a service that imports it', async () => {
    expect(serviceModuleOf(AppModule).variables).toEqual(VARIABLES);
    const app = await createDetachedApp(AppModule);
    expect(app.get(Mailer, { strict: false }).variables).toEqual({ SENDER: 'nobody' });
    await app.close();
  });

  it('are read in a test that compiles the application', async () => {
    const database = await createTestDatabase();
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('AUTH_TOKEN', TOKEN);
    vi.stubEnv('SENDER', 'ada');
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    expect(module.get(Mailer, { strict: false }).variables).toEqual({ SENDER: 'ada' });
    await module.close();
    vi.unstubAllEnvs();
    await database.drop();
  });

  it('have names that no other module takes', () => {
    @Module({ imports: [FrameworkModule.forRoot(IDENTITY, { variables: VARIABLES }), MailModule] })
    class TwiceModule {}
    expect(() => serviceModuleOf(TwiceModule)).toThrow(
      'two modules declare the variable SENDER: one needs another name',
    );
  });
});
