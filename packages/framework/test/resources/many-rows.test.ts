import { expect, it } from 'vitest';
import type { Statement, Statements } from '../../src/database/statements.js';
import { unread } from '../../src/resources/creates/many-rows.js';

/** PostgreSQL's types `int8`, `text[]` and `jsonb`. */
const [INT8, TEXTS, JSONB] = [20, 1009, 3802] as const;

it('rows of a transaction are left in texts until they are read, after the commit', async () => {
  const sent: Statement[] = [];
  const rows = [
    { id: '9007199254740993', words: '{a,"b c",NULL}', specs: '{"size": 1.50}' },
    { id: '2', words: '{}', specs: null },
  ];
  const fields = [
    { name: 'id', dataTypeID: INT8 },
    { name: 'words', dataTypeID: TEXTS },
    { name: 'specs', dataTypeID: JSONB },
  ];
  const run = (statement: Statement) => {
    sent.push(statement);
    return Promise.resolve({ fields, rows });
  };
  const found = await unread({ run } as unknown as Statements, { text: 'SELECT …' });
  for (const { dataTypeID } of fields) {
    const parse = sent[0]!.types!.getTypeParser(dataTypeID as never) as (text: string) => unknown;
    expect(parse('{a}')).toBe('{a}');
  }
  expect(found.count).toBe(2);
  expect(found.read()).toMatchObject([
    ['9007199254740993', ['a', 'b c', null], { size: 1.5 }],
    ['2', [], null],
  ]);
});
