import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Pool } from 'pg';
import type { QueryResult } from 'pg';
import { announce } from './announce.js';

/* The upper limit of Node with statements for groups of requests and nothing else: no token, rules, log, timeouts or
   error handling. */

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

interface PlantRow {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 4 });

/** Collects what arrives while two groups are under way. */
class Groups<Item> {
  private waiting: Item[] = [];
  private underWay = 0;

  constructor(private readonly perform: (group: readonly Item[]) => Promise<void>) {}

  add(item: Item): void {
    this.waiting.push(item);
    if (this.underWay < 2) void this.next();
  }

  private async next(): Promise<void> {
    const group = this.waiting.slice(0, 500);
    this.waiting = this.waiting.slice(500);
    this.underWay += 1;
    await this.perform(group);
    this.underWay -= 1;
    if (this.waiting.length > 0 && this.underWay < 2) void this.next();
  }
}

const creates = new Groups<{ readonly plant: NewPlant; readonly response: ServerResponse }>(
  async (group) => {
    await pool.query({
      name: 'insert-plants',
      text: 'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
      values: [
        group.map(({ plant }) => plant.id),
        group.map(({ plant }) => plant.name),
        group.map(({ plant }) => plant.tag ?? null),
      ],
    });
    for (const { plant, response } of group) send(response, { name: plant.name, tag: plant.tag });
  },
);

const lookUps = new Groups<{ readonly id: string; readonly response: ServerResponse }>(
  async (group) => {
    const { rows }: QueryResult<PlantRow> = await pool.query({
      name: 'select-plants',
      text: 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
      values: [group.map(({ id }) => id)],
    });
    const plants = new Map(rows.map((plant) => [plant.id, plant]));
    for (const { id, response } of group) send(response, { ...plants.get(id), id: Number(id) });
  },
);

async function list(query: string, response: ServerResponse): Promise<void> {
  const parameters = new URLSearchParams(query);
  const values = [parameters.get('after'), parameters.get('limit')];
  const wanted = parameters.get('tag');
  const { rows } = await pool.query<PlantRow>(
    wanted === null
      ? {
          name: 'select-page',
          text: 'SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT $2',
          values,
        }
      : {
          name: 'select-tagged-page',
          text: 'SELECT id, name, tag FROM plants WHERE id > $1 AND tag = $3 ORDER BY id LIMIT $2',
          values: [...values, wanted],
        },
  );
  send(
    response,
    rows.map(({ id, name, tag }) => ({ id: Number(id), name, tag })),
  );
}

function send(response: ServerResponse, content: object): void {
  const body = JSON.stringify(content);
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const server = createServer((request, response) => {
  const { method, url = '' } = request;
  if (method === 'GET') {
    const [, query] = url.split('?');
    if (query === undefined) lookUps.add({ id: url.slice('/plants/'.length), response });
    else void list(query, response);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    creates.add({ plant: JSON.parse(Buffer.concat(chunks).toString()) as NewPlant, response });
  });
});
server.listen(0, '127.0.0.1', () => announce(server));
