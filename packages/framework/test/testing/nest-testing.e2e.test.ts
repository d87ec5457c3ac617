import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getRepositoryToken, InjectRepository } from '@nestjs/typeorm';
import { Allow } from 'class-validator';
import { Column, DataSource, Entity, PrimaryColumn, Repository } from 'typeorm';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  vi,
} from 'vitest';
import { FrameworkModule, ResourceModule } from '../../src/index.js';
import { createTestingService } from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { migrationOf } from '../support/running-service.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

/* Units, jobs and applications, as Nest's documentation tests them. */

@Entity('loans')
class Loan {
  @PrimaryColumn('text')
  @Allow()
  readonly tool!: string;

  @Column({ type: 'timestamptz', precision: 3 })
  @Allow()
  readonly due!: Date;
}

@Injectable()
class Clock {
  now(): Date {
    return new Date();
  }
}

@Injectable()
class ExpiryJob {
  constructor(
    @InjectRepository(Loan) private readonly loans: Repository<Loan>,
    private readonly clock: Clock,
  ) {}

  async run(): Promise<readonly string[]> {
    const loans = await this.loans.find();
    return loans.filter(({ due }) => due < this.clock.now()).map(({ tool }) => tool);
  }
}

@Module({
  imports: [
    ResourceModule.forFeature([Loan], {
      migrations: [
        migrationOf('CREATE TABLE loans (tool text PRIMARY KEY, due timestamptz(3) NOT NULL)'),
      ],
    }),
  ],
  providers: [Clock, ExpiryJob],
})
class LoansModule {}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY), LoansModule], providers: ENHANCERS })
class AppModule {}

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(() => database.drop());

beforeEach(() => {
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('AUTH_TOKEN', TOKEN);
  vi.stubEnv('LOG_LEVEL', 'error');
});

afterEach(() => void vi.unstubAllEnvs());

const LATE = { tool: 'Hammer', due: new Date('2029-12-31T00:00:00Z') };

it('a unit is tested without a database', async () => {
  const module = await Test.createTestingModule({
    providers: [
      ExpiryJob,
      { provide: Clock, useValue: { now: () => new Date('2030-01-01T00:00:00Z') } },
      { provide: getRepositoryToken(Loan), useValue: { find: async () => [LATE] } },
    ],
  }).compile();
  expect(await module.get(ExpiryJob).run()).toEqual(['Hammer']);
});

it('a job is tested with fixtures and a clock', async () => {
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  const now = new Date('2030-01-01T00:00:00Z');
  const service = await createTestingService(
    AppModule,
    {},
    { override: (builder) => builder.overrideProvider(Clock).useValue({ now: () => now }) },
  );
  const loans = service.get(DataSource).getRepository(Loan);
  await loans.insert({ tool: 'Hammer', due: new Date('2029-12-31T00:00:00Z') });
  await loans.insert({ tool: 'Saw', due: new Date('2030-01-02T00:00:00Z') });
  expect(await service.get(ExpiryJob).run()).toEqual(['Hammer']);
  await service.stop();
});

const application = () => Test.createTestingModule({ imports: [AppModule] });

describe('Test.createTestingModule({ imports: [AppModule] })', () => {
  it('connects and migrates the database, and gives providers', async () => {
    const module = await application()
      .overrideProvider(Clock)
      .useValue({ now: () => new Date('2030-01-01T00:00:00Z') })
      .compile();
    await module.init();
    await module.get(DataSource).getRepository(Loan).insert(LATE);
    expect(await module.get(ExpiryJob).run()).toEqual(['Hammer']);
    await module.close();
  });

  it('names the variables that it needs', async () => {
    vi.stubEnv('DATABASE_URL', undefined);
    await expect(application().compile()).rejects.toThrow(
      'needs DATABASE_URL and AUTH_TOKEN; createTestingService(…) makes a database',
    );
    vi.stubEnv('DATABASE_URL', database.url);
    vi.stubEnv('AUTH_TOKEN', undefined);
    await expect(application().compile()).rejects.toThrow('AUTH_TOKEN or AUTH_JWT_ISSUER must be');
  });

  it('says at once that its database cannot be reached', async () => {
    const url = Object.assign(new URL(database.url), { pathname: '/none' }).href;
    vi.stubEnv('DATABASE_URL', url);
    await expect(application().compile()).rejects.toThrow('database "none" does not exist');
  });

  it('serves no requests with the server of Nest', async () => {
    const module = await application().compile();
    const app = module.createNestApplication();
    await expect(app.init()).rejects.toThrow('createTestingService(…) instead');
    await module.close();
  });
});
