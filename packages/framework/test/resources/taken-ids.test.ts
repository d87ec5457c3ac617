import { expect, it } from 'vitest';
import type { Statements } from '../../src/database/statements.js';
import { createLogger } from '../../src/observability/logger.js';
import type { EntityColumns } from '../../src/resources/properties/entity-columns.js';
import { TakenIds } from '../../src/resources/generated-ids/taken-ids.js';

it('of a table are logged once in a minute, however many creates meet them', async () => {
  const log: string[] = [];
  const takenIds = new TakenIds({
    columns: () => ({ table: 'tools', key: { type: 'bigint' } }) as EntityColumns,
    statements: { rows: () => Promise.resolve([]) } as unknown as Statements,
    logger: createLogger('info', { write: (line) => void log.push(line) }),
  });
  for (let create = 0; create < 100; create += 1) {
    const rows = [undefined, 'row'];
    expect(await takenIds.skip(() => Promise.resolve(rows.shift()))).toBe('row');
  }
  expect(log).toHaveLength(1);
  expect(log[0]).toContain('docs/framework/creating.md');
});
