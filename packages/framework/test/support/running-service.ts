import { Module } from '@nestjs/common';
import type { ModuleMetadata, Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterAll, beforeAll } from 'vitest';
import { FrameworkModule, ResourceModule } from '../../src/index.js';
import type { Service } from '../../src/app/service.js';
import type { DatabaseLimits } from '../../src/database/limits.js';
import { ENHANCERS } from './enhancers.js';
import { IDENTITY } from './identity.js';
import { start } from './start.js';
import { createTestDatabase } from './test-database.js';
import type { TestDatabase } from './test-database.js';
import { TOKEN } from './tokens.js';

/** A migration that runs these statements. */
export function migrationOf(...statements: readonly string[]): Type<MigrationInterface> {
  return class implements MigrationInterface {
    readonly name = 'CreateTables1795700000000';

    async up(queryRunner: QueryRunner): Promise<void> {
      for (const statement of statements) await queryRunner.query(statement);
    }

    down(): Promise<void> {
      return Promise.resolve();
    }
  };
}

/** A service with one module, which has these entities. */
export function appOf(
  entities: readonly Type[],
  migrations: readonly Type<MigrationInterface>[],
  parts: Pick<ModuleMetadata, 'controllers' | 'providers'>,
): Type {
  @Module({ imports: [ResourceModule.forFeature([...entities], { migrations })], ...parts })
  class ResourcesModule {}
  @Module({ imports: [FrameworkModule.forRoot(IDENTITY), ResourcesModule], providers: ENHANCERS })
  class AppModule {}
  return AppModule;
}

type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }>;

/** Sends requests with {@link TOKEN}. A text is sent as it is, anything else as JSON. */
export function senderTo(serviceOf: () => Service): Send {
  return async (method, path, body, headers = {}) => {
    const content = typeof body === 'string' ? body : JSON.stringify(body);
    const type = path.endsWith('/import') ? 'application/x-ndjson' : 'application/json';
    const response = await fetch(`http://127.0.0.1:${serviceOf().address.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': type, ...headers },
      ...(content !== undefined && { body: content }),
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
}

export interface RunningService {
  readonly database: TestDatabase;
  readonly port: number;
  readonly url: string;
  readonly send: Send;
}

/** Runs a service with a database of its own as long as the tests of a file or group. */
export function runningService(
  app: Type,
  environment: Readonly<Record<string, string>> = {},
  limits: Partial<DatabaseLimits> = {},
): RunningService {
  let database: TestDatabase;
  let service: Service;
  beforeAll(async () => {
    database = await createTestDatabase();
    service = await start(app, database, environment, limits);
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });
  return {
    get database() {
      return database;
    },
    get port() {
      return service.address.port;
    },
    get url() {
      return `http://127.0.0.1:${service.address.port}`;
    },
    send: senderTo(() => service),
  };
}
