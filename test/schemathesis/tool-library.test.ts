import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestingService } from '@resource-service/framework/testing';
import type { TestingService } from '@resource-service/framework/testing';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { AppModule } from '../../examples/tool-library/src/app.module.js';
import { BOUND, expectNoDifference, schemathesis } from './run.js';

/* The second service, whose ids the database makes. */

let service: TestingService;
let folder: string;

beforeAll(async () => {
  // Also for `createTestingService`.
  process.env['TEST_DATABASE_URL'] = inject('postgresUrl');
  service = await createTestingService(AppModule);
  folder = await mkdtemp(join(tmpdir(), 'tool-library-schemathesis-'));
});

afterAll(() => Promise.all([service.stop(), rm(folder, { recursive: true, force: true })]));

it(
  'finds no answer that differs from the document',
  async () => {
    const document = `${service.url}/openapi.json`;
    expectNoDifference(await schemathesis(service, folder, document, '--seed=1'));
    const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
    expect(metrics).toContain('tool_library_requests_total');
    expect(metrics).not.toMatch(/_requests_total\{[^}]*status="500"/);
  },
  BOUND + 30_000,
);
