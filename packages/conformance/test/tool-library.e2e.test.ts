import { readFileSync } from 'node:fs';
import { createTestingService } from '@resource-service/framework/testing';
import { expect, inject, it, onTestFinished, vi } from 'vitest';
import { AppModule } from '../../../examples/tool-library/src/app.module.js';
import { checks, TestedService } from '../src/index.js';
import type { OpenApiDocument } from '../src/index.js';

/* Ids of the database, keys of both kinds, an operation of its own that refers to another resource. */

it('the tool library passes', async () => {
  const text = readFileSync('examples/tool-library/openapi.json', 'utf8');
  const document = JSON.parse(text) as OpenApiDocument;
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  onTestFinished(() => void vi.unstubAllEnvs());
  const library = await createTestingService(AppModule);
  onTestFinished(() => library.stop());
  const { url, token } = library;
  const readToken = await library.tokenWith('tools:read');
  const service = new TestedService(document, { url, token, readToken });
  const skipped: string[] = [];
  for (const check of checks(document)) {
    const result = await check.run(service);
    expect(result).not.toMatchObject({ outcome: 'fail' });
    if (result.outcome === 'not applicable') skipped.push(check.name);
  }
  expect(await service.removeRows()).toEqual([]);
  expect(skipped).toEqual([
    'errors: of GET /loan-changes/latest',
    'preconditions of loans: a stale one changes nothing',
    'preconditions of loans: one of many changes at once wins',
    'list of loans: each filter finds a row with its value',
    'export of loans: each row once',
    'owners of loans: a hidden row is hidden everywhere',
    'list of tools: each filter finds a row with its value',
    'owners of tools: a hidden row is hidden everywhere',
    'kill -9 during creates of loans: each request has its effect once',
    'kill -9 during creates of tools: each request has its effect once',
    'memory while readers of loans stop reading',
    'memory while readers of tools stop reading',
  ]);
});
