import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RESOURCES, valuesOf } from '../support/resources.js';
import type { Resource } from '../support/resources.js';
import { startTestService } from '../support/test-service.js';
import type { Answer, TestService } from '../support/test-service.js';

/* Every column is a member, and every member takes part in all that the service does with a resource. The resources
   come from the document, and the columns from the database, so a new column or resource is tested as soon as it is
   there. */

/** Columns that callers never see, such as `plants.search_vector`. */
const INTERNAL: ReadonlySet<string> = new Set();

/** Tables that are no resource: the migrations, the issued tokens, the records of changes of any resource, and the webhooks. */
const NO_RESOURCE = /_migrations$|^access_tokens$|_changes(_state)?$|^webhook/;

type Row = Readonly<Record<string, unknown>>;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

const memberOf = (column: string) =>
  column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function send(method: string, path: string, body: unknown, headers = {}): Promise<Answer> {
  return service.request(method, path, {
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** The last line of the answer is the summary. */
async function importLines({ name }: Resource, text: string): Promise<Row[]> {
  const answer = await service.request('POST', `/${name}/import`, {
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: text,
  });
  return rowsOf(answer.text);
}

const rowsOf = (lines: string) =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

const get = ({ name }: Resource, id: unknown) => service.request('GET', `/${name}/${String(id)}`);

/** A row with a value in every member. */
const fullRow = ({ name, members }: Resource): Row =>
  Object.fromEntries(
    Object.entries(members).map(([member, schema]) => [
      member,
      valuesOf(`${name}.${member}`, schema)[0],
    ]),
  );

async function store(resource: Resource, row: Row): Promise<void> {
  expect(await importLines(resource, JSON.stringify(row))).toEqual([
    { created: 1, unchanged: 0, refused: 0 },
  ]);
}

/** Stores what the values of a resource refer to. */
async function storeTargets(resource: Resource): Promise<void> {
  const references = await service.database.query(
    `SELECT a.attname AS column, t.relname AS target
     FROM pg_constraint c JOIN pg_class t ON t.oid = c.confrelid
       JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
     WHERE c.contype = 'f' AND c.conrelid = $1::regclass`,
    [resource.table],
  );
  for (const { column, target: table } of references) {
    const target = RESOURCES.find((candidate) => candidate.table === table);
    const member = memberOf(String(column));
    if (target === undefined || !resource.members[member]) continue;
    const { [target === resource ? member : '']: _, ...row } = fullRow(target);
    if (target !== resource) await storeTargets(target);
    for (const id of valuesOf(`${resource.name}.${member}`, resource.members[member])) {
      await importLines(target, JSON.stringify({ ...row, id }));
    }
  }
}

it('has a resource for every table', async () => {
  const tables = await service.database.query(
    `SELECT table_name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  const others = tables
    .map(({ table_name: table }) => String(table))
    .filter((table) => !NO_RESOURCE.test(table) && !RESOURCES.some((one) => one.table === table));
  expect(others).toEqual([]);
});

describe.each(RESOURCES)('$name', (resource) => {
  const { name, table, members, required, memberLists, created, idTaken } = resource;
  const others = Object.keys(members).filter((member) => member !== 'id');
  const optional = others.filter((member) => !required.includes(member));
  // Without other optional members, so that only the tests of a forgotten member fail.
  const rowsFor = (member: string): readonly [row: Row, changed: Row, change: Row] => {
    const row = Object.fromEntries(
      Object.entries(fullRow(resource)).filter(([one]) => one === member || required.includes(one)),
    );
    const change = { [member]: valuesOf(`${name}.${member}`, members[member]!)[1] };
    return [row, { ...row, ...change }, change];
  };

  beforeEach(async () => {
    await service.database.empty();
    await storeTargets(resource);
  });

  it('has a member for every column, in every body and answer', async () => {
    const columns = await service.database.query(
      `SELECT column_name FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name = $1 ORDER BY ordinal_position`,
      [table],
    );
    const columnNames = columns.map(({ column_name: column }) => String(column));
    expect(columnNames).toContain('id');
    const forgotten = columnNames
      .filter((column) => !INTERNAL.has(`${table}.${column}`))
      .flatMap((column) =>
        [...memberLists]
          .filter(([, list]) => !list.includes(memberOf(column)))
          .map(([place]) => `${table}.${column} is no member of ${place}`),
      );
    expect(forgotten).toEqual([]);
  });

  it.each(others)('keeps %s in look-up, list, export and import', async (member) => {
    const [row, changed] = rowsFor(member);
    for (const stored of [row, changed]) {
      await service.database.empty();
      await storeTargets(resource);
      await store(resource, stored);
      expect((await get(resource, row['id'])).json, 'look-up').toEqual(stored);
      const list = JSON.parse((await service.request('GET', `/${name}`)).text) as Row[];
      expect(
        list.find(({ id }) => id === row['id']),
        'list',
      ).toEqual(stored);
      const exported = (await service.request('GET', `/${name}/export`)).text;
      expect(
        rowsOf(exported).find(({ id }) => id === row['id']),
        'export',
      ).toEqual(stored);
      await service.database.empty();
      await storeTargets(resource);
      await importLines(resource, exported);
      expect((await get(resource, row['id'])).json, 'import of the export').toEqual(stored);
    }
  });

  it.each(others)('changes %s by PUT and PATCH', async (member) => {
    const [row, changed, change] = rowsFor(member);
    await store(resource, row);
    for (const [method, body, expected] of [
      ['PUT', changed, changed],
      ['PUT', row, row],
      ['PATCH', change, changed],
    ] as const) {
      const answer = await send(method, `/${name}/${String(row['id'])}`, body);
      expect(answer.json, `answer of ${method}`).toEqual(expected);
      expect((await get(resource, row['id'])).json, `look-up after ${method}`).toEqual(expected);
    }
  });

  it.each(optional)('removes %s by PATCH and PUT', async (member) => {
    const [row] = rowsFor(member);
    const { [member]: _, ...without } = row;
    await store(resource, row);
    for (const [method, body] of [
      ['PATCH', { [member]: null }],
      ['PUT', without],
    ] as const) {
      await send('PUT', `/${name}/${String(row['id'])}`, row);
      await send(method, `/${name}/${String(row['id'])}`, body);
      expect((await get(resource, row['id'])).json, `look-up after ${method}`).toEqual(without);
    }
  });

  it.each(others)('has another entity tag after a change of %s', async (member) => {
    const [row, , change] = rowsFor(member);
    await store(resource, row);
    const before = (await get(resource, row['id'])).headers.get('ETag');
    await send('PATCH', `/${name}/${String(row['id'])}`, change);
    const after = (await get(resource, row['id'])).headers.get('ETag');
    expect(after).not.toBe(before);
  });

  it.each(others)('has one winner among concurrent conditional changes of %s', async (member) => {
    const [row, , change] = rowsFor(member);
    await store(resource, row);
    const headers = { 'If-Match': (await get(resource, row['id'])).headers.get('ETag') };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        send('PATCH', `/${name}/${String(row['id'])}`, change, headers),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 412),
    ]);
  });

  it.each(others)('refuses to create it again with another %s', async (member) => {
    const [row, changed] = rowsFor(member);
    const { [member]: _, ...without } = row;
    await store(resource, row);
    for (const other of optional.includes(member) ? [changed, without] : [changed]) {
      const [refusal] = await importLines(resource, JSON.stringify(other));
      expect(idTaken, `import: ${JSON.stringify(refusal)}`).toContain(refusal?.['error']);
      // A create with fixed members does not send the member.
      if (!created.includes(member)) continue;
      const answer = await send('POST', `/${name}`, other);
      expect(idTaken, `create: ${answer.text}`).toContain(answer.json['error']);
    }
    expect((await get(resource, row['id'])).json).toEqual(row);
  });

  it('creates it with every member of a create', async () => {
    const row = Object.fromEntries(
      Object.entries(fullRow(resource)).filter(([member]) => created.includes(member)),
    );
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await send('POST', `/${name}`, row)).toMatchObject({ status: 200 });
      expect((await get(resource, row['id'])).json).toEqual(row);
    }
  });
});
