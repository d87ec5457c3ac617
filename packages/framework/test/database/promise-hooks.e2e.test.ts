import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it, vi } from 'vitest';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import { AppModule } from '../support/tool-library.js';

it('a start with migrations uses no storage that makes each promise slower from then on', async () => {
  const run = vi.spyOn(AsyncLocalStorage.prototype, 'run');
  const database = await createTestDatabase();
  try {
    const service = await start(AppModule, database);
    expect(run).not.toHaveBeenCalled();
    await service.stop();
  } finally {
    run.mockRestore();
    await database.drop();
  }
});
