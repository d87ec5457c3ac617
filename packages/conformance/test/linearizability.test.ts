import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { explain } from '../src/linearizability.js';
import type { RowOperation } from '../src/linearizability.js';

/* The histories that the checker of test/faults has to judge, too. */

const FOLDER = 'test/linearizability/histories';

interface Line {
  readonly id: number;
  readonly kind: string;
  readonly body?: RowOperation['body'];
  readonly ifMatch?: string;
  readonly call: number;
  readonly return?: number;
  readonly outcome?: number;
  readonly answer?: RowOperation['content'];
  readonly etag?: string;
}

const OUTCOMES = new Map<number | undefined, RowOperation['outcome']>([
  [200, 'done'],
  [204, 'done'],
  [40401, 'missing'],
  [41200, 'stale'],
  [40009, 'conflict'],
]);

/** What is wrong with the rows of a history. */
function judge(name: string): readonly string[] {
  const lines = readFileSync(`${FOLDER}/${name}.ndjson`, 'utf8').trimEnd().split('\n');
  const operations = lines.map((line) => JSON.parse(line) as Line);
  return [...new Set(operations.map(({ id }) => id))].flatMap(
    (row) => explain(operations.filter(({ id }) => id === row).map(operationOf)) ?? [],
  );
}

function operationOf({ kind, body, ifMatch, outcome, answer, etag, ...line }: Line): RowOperation {
  return {
    kind: kind === 'look-up' || kind === 'list' ? 'get' : (kind as RowOperation['kind']),
    ...(body && { body }),
    ifMatch,
    begin: line.call,
    end: line.return,
    ...(outcome !== undefined && { outcome: OUTCOMES.get(outcome)! }),
    ...(answer && { content: answer }),
    etag,
  };
}

it('accepts what the interface promises, and operations of unknown outcome', () => {
  expect(judge('linearizable')).toEqual([]);
});

it.each([
  ['stale-read', /get → done {"name":"n0"}$/],
  ['lost-update', /patch {"tag":"x2"} → done {"name":"n0","tag":"x2"}$/],
  ['two-winners', /replace {"name":"x2"} if "A" → done {"name":"x2"}$/],
  ['lost-row', /get → missing$/],
  ['undone', /get → done {"name":"n0"}$/],
  ['refused-replay', /create {"name":"n0"} → conflict$/],
  ['shared-tag', /{"name":"n0"} and {"name":"x1"} have the entity tag "A"$/],
])('refuses %s, and shows where', (name, culprit) => {
  expect(judge(name)).toEqual([expect.stringMatching(culprit)]);
});

describe('a removed row that keeps its id', () => {
  type Step = Pick<RowOperation, 'kind'> & Partial<RowOperation>;
  const [a, b] = [{ text: 'a' }, { text: 'b' }];
  const historyOf = (...steps: readonly Step[]) =>
    steps.map((step, at): RowOperation => {
      const usual = { begin: 2 * at, end: 2 * at + 1, outcome: 'done' } as const;
      return Object.assign(usual, step);
    });
  const removed = [{ kind: 'create', body: a }, { kind: 'remove' }] as const;

  it.each([
    ['is taken', [{ kind: 'create', body: b, outcome: 'conflict' }]],
    ['is taken, also for its own content', [{ kind: 'create', body: a, outcome: 'conflict' }]],
    [
      'is missing',
      [
        { kind: 'get', outcome: 'missing' },
        { kind: 'patch', body: b, outcome: 'missing' },
      ],
    ],
    [
      'comes back',
      [
        { kind: 'restore', content: a },
        { kind: 'restore', content: a },
        { kind: 'get', content: a },
      ],
    ],
    [
      'may be back',
      [
        { kind: 'restore', end: undefined },
        { kind: 'patch', body: b, content: b },
      ],
    ],
  ] satisfies [string, Step[]][])('%s', (_, steps) => {
    expect(explain(historyOf(...removed, ...steps), true)).toBeUndefined();
  });

  it.each([
    ['is created again', [{ kind: 'create', body: a }], /create {"text":"a"} → done$/],
    [
      'comes back with other content',
      [{ kind: 'restore', content: b }],
      /restore → done {"text":"b"}$/,
    ],
    ['does not come back', [{ kind: 'restore', outcome: 'missing' }], /restore → missing$/],
  ] satisfies [string, Step[], RegExp][])('is wrong if it %s', (_, steps, culprit) => {
    expect(explain(historyOf(...removed, ...steps), true)).toMatch(culprit);
  });

  it('is another promise than a free id', () => {
    const taken = historyOf(...removed, { kind: 'create', body: b, outcome: 'conflict' });
    expect(explain(taken)).toMatch(/conflict$/);
    expect(explain(historyOf(...removed, { kind: 'create', body: b }))).toBeUndefined();
    expect(explain(historyOf({ kind: 'restore', outcome: 'missing' }), true)).toBeUndefined();
  });
});

it('judges all histories', () => {
  expect(readdirSync(FOLDER)).toHaveLength(8);
});
