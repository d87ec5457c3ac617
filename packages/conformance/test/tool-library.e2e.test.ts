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
  onTestFinished(() => vi.unstubAllEnvs());
  const { url, token, tokenWith, stop } = await createTestingService(AppModule);
  onTestFinished(stop);
  const readToken = await tokenWith('tools:read');
  const service = new TestedService(document, { url, token, readToken });
  const skipped: string[] = [];
  for (const check of checks(document)) {
    const result = await check.run(service);
    expect(result).not.toMatchObject({ outcome: 'fail' });
    if (result.outcome === 'not applicable') skipped.push(check.name);
  }
  expect(await service.removeRows()).toEqual([]);
  expect(skipped).toEqual([]);
});
