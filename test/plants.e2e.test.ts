import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService } from './support/test-service.js';
import type { TestService } from './support/test-service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

describe('POST /plants', () => {
  it('answers 200 with exactly the name and the tag', async () => {
    const answer = await service.post({ id: 1, name: 'Monstera', tag: 'indoor' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.text).toBe('{"name":"Monstera","tag":"indoor"}');
  });
});
