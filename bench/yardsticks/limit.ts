import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Pool } from 'pg';
import { announce } from './announce.js';

/* The upper limit of Node with group commit and nothing else: no token, rules, log, timeouts or error handling. */

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 2 });
let waiting: { readonly plant: NewPlant; readonly response: ServerResponse }[] = [];
let underWay = 0;

async function commit(): Promise<void> {
  const group = waiting.slice(0, 500);
  waiting = waiting.slice(500);
  underWay += 1;
  await pool.query({
    name: 'insert-plants',
    text: 'INSERT INTO plants (id, name, tag) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])',
    values: [
      group.map(({ plant }) => plant.id),
      group.map(({ plant }) => plant.name),
      group.map(({ plant }) => plant.tag ?? null),
    ],
  });
  underWay -= 1;
  for (const { plant, response } of group) {
    const body = JSON.stringify({ name: plant.name, tag: plant.tag });
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  }
  if (waiting.length > 0 && underWay < 2) void commit();
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const plant = JSON.parse(Buffer.concat(chunks).toString()) as NewPlant;
    waiting.push({ plant, response });
    if (underWay < 2) void commit();
  });
});
server.listen(0, '127.0.0.1', () => announce(server));
