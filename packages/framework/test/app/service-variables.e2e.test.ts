import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, forwardRef, Get, Injectable, Module } from '@nestjs/common';
import { afterAll, beforeAll, expect, inject, it, onTestFinished, vi } from 'vitest';
import { createDetachedApp } from '../../src/app/detached-app.js';
import { serviceModuleOf } from '../../src/app/framework.module.js';
import { writeDocuments } from '../../src/cli.js';
import { FrameworkModule, InjectVariables, Public, variable, Variables } from '../../src/index.js';
import { createTestingService } from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';

/* The variables of a service's own, and `forRoot` in a module that the application imports. */

const VARIABLES = {
  SMTP_URL: variable.url({ description: 'Sends mails.', example: 'smtp://localhost:1025' }),
  SENDER: variable.text({ description: 'Who sends them.', isOptional: true }),
  REMINDER_DAYS: variable.integer({ description: 'Until then.', min: 1, max: 90, default: 14 }),
};

@Injectable()
class Mailer {
  readonly host: string;

  constructor(@InjectVariables() { SMTP_URL }: Variables<typeof VARIABLES>) {
    this.host = SMTP_URL.host;
  }
}

@Controller('mails')
class MailsController {
  constructor(
    private readonly mailer: Mailer,
    @InjectVariables() private readonly variables: Variables<typeof VARIABLES>,
  ) {}

  @Get()
  @Public()
  get(): object {
    return { host: this.mailer.host, days: this.variables.REMINDER_DAYS };
  }
}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY, { variables: VARIABLES })] })
class CoreModule {}

@Module({
  imports: [CoreModule],
  providers: [
    ...ENHANCERS,
    Mailer,
    {
      provide: 'SENDER',
      inject: [Variables],
      useFactory: ({ SENDER = 'nobody' }: Variables<typeof VARIABLES>) => SENDER,
    },
  ],
  controllers: [MailsController],
})
class AppModule {}

beforeAll(() => void vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl')));
afterAll(() => void vi.unstubAllEnvs());

it.each([
  [{ SMTP_URL: 'smtp://mail.example:25', REMINDER_DAYS: '7' }, 'mail.example:25', 7],
  [{}, 'localhost:1025', 14],
])('a test gives them: %j', async (environment, host, days) => {
  const service = await createTestingService(AppModule, environment);
  expect(await service.send('GET', '/mails')).toMatchObject({ body: { host, days } });
  await service.stop();
});

it('a mistake ends the start', async () => {
  const environment = { SMTP_URL: 'mail.example:99999', RATE_LIMIT: 'x' };
  await expect(createTestingService(AppModule, environment)).rejects.toThrow(
    /^RATE_LIMIT must be .*\nSMTP_URL must be a URL such as/,
  );
});

it('programs without the environment of the service use the examples', async () => {
  const app = await createDetachedApp(AppModule);
  expect(app.get(Mailer).host).toBe('localhost:1025');
  expect(app.get('SENDER')).toBe('nobody');
  await app.close();
});

it('the documents list them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'documents-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = { openApi: join(folder, 'openapi.json'), variables: join(folder, '.env.example') };
  await writeFile(files.variables, '# Port of the API.\n# PORT=3000\n');
  const expected = `# Port of the API.
# PORT=3000

# Variables of this service. Each may be in a file that NAME_FILE names.
# Sends mails. Required.
# SMTP_URL=smtp://localhost:1025
# Who sends them.
# SENDER=
# Until then.
# REMINDER_DAYS=14
`;
  for (const _ of [1, 2]) {
    await writeDocuments(AppModule, files);
    expect(await readFile(files.variables, 'utf8')).toBe(expected);
  }
});

it('a service is found behind a forward reference, and behind a module with options', () => {
  @Module({ imports: [forwardRef(() => CoreModule)] })
  class ForwardModule {}
  @Module({})
  class OptionsModule {}
  @Module({ imports: [{ module: OptionsModule, imports: [CoreModule] }] })
  class OuterModule {}
  for (const app of [ForwardModule, OuterModule]) {
    expect(serviceModuleOf(app)).toMatchObject({ identity: IDENTITY, variables: VARIABLES });
  }
});

it('a service has one identity', () => {
  @Module({ imports: [CoreModule, FrameworkModule.forRoot(IDENTITY)] })
  class TwiceModule {}
  expect(() => serviceModuleOf(TwiceModule)).toThrow(
    'TwiceModule imports FrameworkModule.forRoot(…) more than once',
  );
});
