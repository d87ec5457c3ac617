import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import type { Answer, TestService } from './test-service.js';

/** A 503 that tells when to come back, and no details of the database. */
export function expectUnavailable(answer: Answer, error: unknown = 50300): void {
  expect(answer.status).toBe(503);
  expect(answer.json).toEqual({ error, message: expect.any(String) });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(answer.text).not.toMatch(/sql|select|insert|127\.0\.0\.1|timeout|terminat/i);
}

/** Waits until this many connections of the pool are in use. */
export async function areUsed({ managementUrl }: TestService, connections: number): Promise<void> {
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`${managementUrl}/metrics`)).text();
    expect(metrics).toContain(
      `db_client_connection_count{db_client_connection_pool_name="plant-store",db_client_connection_state="used"} ${connections}`,
    );
  }, PATIENCE);
}
