import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService } from '../../test/support/test-service.js';
import type { Answer, TestService } from '../../test/support/test-service.js';

const GARDEN = { id: 1, name: 'Kitchen garden', note: 'South wall' };

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(() => service.database.empty());

afterAll(() => service.stop());

function send(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return service.request(method, path, {
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}

describe('POST /gardens', () => {
  it('creates a garden, and answers a repeated request alike', async () => {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expect(await send('POST', '/gardens', GARDEN)).toMatchObject({ status: 200, json: GARDEN });
    }
  });

  it('refuses an id that belongs to a garden with other content', async () => {
    await send('POST', '/gardens', GARDEN);
    for (const other of [{ name: 'Yard' }, { note: 'North wall' }]) {
      const answer = await send('POST', '/gardens', { ...GARDEN, ...other });
      expect(answer).toMatchObject({ status: 409, json: { error: 40920 } });
    }
    expect((await send('GET', '/gardens/1')).json).toEqual(GARDEN);
  });

  it.each([
    [{ id: 1 }, 'name is missing'],
    [{ id: 1, name: '' }, 'name must have 1 to 200 characters'],
    [{ id: 1, name: 'Yard', note: null }, 'note must be a string'],
  ])('refuses %j', async (body, message) => {
    const answer = await send('POST', '/gardens', body);
    expect(answer).toMatchObject({ status: 400, json: { error: 40003, message } });
  });

  // #region plants
  it('refuses a plant that does not exist', async () => {
    const answer = await send('POST', '/gardens', { ...GARDEN, plantId: 404 });
    expect(answer).toMatchObject({ status: 409, json: { error: 40921 } });
  });

  it('keeps a garden whose plant is removed', async () => {
    await service.post({ id: 5, name: 'Aloe' });
    const garden = { ...GARDEN, plantId: 5 };
    expect(await send('POST', '/gardens', garden)).toMatchObject({ status: 200, json: garden });
    await send('DELETE', '/plants/5');
    expect((await send('GET', '/gardens/1')).json).toEqual(GARDEN);
  });
  // #endregion
});

describe('GET /gardens/{id}', () => {
  it('finds a garden, whose entity tag answers the next request', async () => {
    await send('POST', '/gardens', GARDEN);
    const answer = await send('GET', '/gardens/1');
    expect(answer).toMatchObject({ status: 200, json: GARDEN });
    const headers = { 'If-None-Match': answer.headers.get('ETag')! };
    expect((await service.request('GET', '/gardens/1', { headers })).status).toBe(304);
  });

  it('refuses an unknown id', async () => {
    const answer = await send('GET', '/gardens/404');
    expect(answer).toMatchObject({ status: 404, json: { error: 40420 } });
  });
});

describe('GET /gardens', () => {
  it('leads over all gardens, page by page, with the same parameters', async () => {
    for (const id of [3, 1, 2]) await send('POST', '/gardens', { ...GARDEN, id });
    const first = await send('GET', '/gardens?limit=2');
    expect(JSON.parse(first.text)).toMatchObject([{ id: 1 }, { id: 2 }]);
    const [, next = ''] = /<(.*)>; rel="next"/.exec(first.headers.get('Link') ?? '') ?? [];
    expect(next).toBe('/gardens?limit=2&after=2');
    const last = await send('GET', next);
    expect(JSON.parse(last.text)).toEqual([{ ...GARDEN, id: 3 }]);
    expect(last.headers.get('Link')).toBeNull();
  });

  it('finds gardens by their ids, backwards, and counts them', async () => {
    for (const id of [3, 1, 2]) await send('POST', '/gardens', { ...GARDEN, id });
    const page = await send('GET', '/gardens?ids=1,3,7&sort=-id&count=true');
    expect(JSON.parse(page.text)).toMatchObject([{ id: 3 }, { id: 1 }]);
    expect(page.headers.get('X-Total-Count')).toBe('2');
    expect(page.headers.get('X-Total-Count-Exact')).toBe('true');
  });

  // #region plants
  it('lists the gardens with a plant', async () => {
    await service.post({ id: 5, name: 'Aloe' });
    for (const id of [1, 2, 3]) await send('POST', '/gardens', { ...GARDEN, id, plantId: 5 });
    await send('POST', '/gardens', { ...GARDEN, id: 4 });
    const page = await send('GET', '/gardens?plantId=5&limit=2');
    expect(JSON.parse(page.text)).toMatchObject([{ id: 1 }, { id: 2 }]);
    expect(page.headers.get('Link')).toBe('</gardens?limit=2&plantId=5&after=2>; rel="next"');
  });

  it('sorts gardens by name, also those with a plant', async () => {
    await service.post({ id: 5, name: 'Aloe' });
    for (const [id, name] of ['Yard', 'Court', 'Bed', 'Court'].entries()) {
      await send('POST', '/gardens', { id, name, ...(id > 0 && { plantId: 5 }) });
    }
    const idsOf = async (path: string) =>
      (JSON.parse((await send('GET', path)).text) as { id: number }[]).map(({ id }) => id);
    expect(await idsOf('/gardens?sort=name')).toEqual([2, 1, 3, 0]);
    expect(await idsOf('/gardens?sort=-name&plantId=5')).toEqual([3, 1, 2]);
    const page = await send('GET', '/gardens?sort=name&plantId=5&limit=2');
    expect(page.headers.get('Link')).toBe(
      '</gardens?limit=2&sort=name&plantId=5&after=1&afterValue=%22Court%22>; rel="next"',
    );
    expect(await idsOf('/gardens?sort=name&plantId=5&after=1&afterValue=%22Court%22')).toEqual([3]);
  });
  // #endregion
});

// #region plants
describe('GET /gardens/{id}/plant', () => {
  it('finds the plant of a garden', async () => {
    await service.post({ id: 5, name: 'Aloe' });
    await send('POST', '/gardens', { ...GARDEN, plantId: 5 });
    const answer = await send('GET', '/gardens/1/plant');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ id: 5, name: 'Aloe' });
  });

  it('refuses an unknown garden, and a garden without a plant', async () => {
    await send('POST', '/gardens', GARDEN);
    for (const [id, error] of [
      [404, 40420],
      [1, 40421],
    ]) {
      const answer = await send('GET', `/gardens/${id}/plant`);
      expect(answer).toMatchObject({ status: 404, json: { error } });
    }
  });
});
// #endregion

describe('PUT /gardens/{id}', () => {
  it('replaces all members', async () => {
    await send('POST', '/gardens', GARDEN);
    const answer = await send('PUT', '/gardens/1', { name: 'Yard' });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.json).toEqual({ id: 1, name: 'Yard' });
  });
});

describe('PATCH /gardens/{id}', () => {
  it('changes the members of the patch, and null removes one', async () => {
    await send('POST', '/gardens', GARDEN);
    expect((await send('PATCH', '/gardens/1', { name: 'Yard' })).json).toEqual({
      ...GARDEN,
      name: 'Yard',
    });
    expect((await send('PATCH', '/gardens/1', { note: null })).json).toEqual({
      id: 1,
      name: 'Yard',
    });
  });
});

describe('DELETE /gardens/{id}', () => {
  it('removes a garden, whose id is free then', async () => {
    await send('POST', '/gardens', GARDEN);
    expect((await send('DELETE', '/gardens/1')).status).toBe(204);
    expect((await send('DELETE', '/gardens/1')).status).toBe(404);
    expect((await send('POST', '/gardens', { id: 1, name: 'Yard' })).status).toBe(200);
  });
});

describe('POST /gardens/import', () => {
  it('creates a garden for each line, and tells which line is refused', async () => {
    const body = [GARDEN, { id: 2 }, { ...GARDEN, name: 'Yard' }].map((line) =>
      JSON.stringify(line),
    );
    const answer = await service.request('POST', '/gardens/import', {
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: body.join('\n'),
    });
    const lines = answer.text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { line: 2, error: 40003, message: 'name is missing' },
      { line: 3, error: 40920, message: 'id 1 belongs to a garden with other content' },
      { created: 1, unchanged: 0, refused: 2 },
    ]);
  });
});

describe('GET /gardens/export', () => {
  it('returns all gardens, which can be imported again', async () => {
    for (const id of [2, 1]) await send('POST', '/gardens', { ...GARDEN, id });
    const { text } = await send('GET', '/gardens/export');
    expect(text).toBe(`${[1, 2].map((id) => JSON.stringify({ ...GARDEN, id })).join('\n')}\n\n`);
    await service.database.empty();
    await service.request('POST', '/gardens/import', {
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: text,
    });
    expect((await send('GET', '/gardens/export')).text).toBe(text);
  });
});
