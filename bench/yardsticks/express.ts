import express from 'express';
import type { NextFunction, Request, Response } from 'express';
import { DatabaseError, Pool } from 'pg';
import { announce } from './announce.js';

/* What people write by hand with Express and pg. */

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 });
const app = express();
// Plant Store sends no ETag with creates and pages.
app.disable('etag');

app.use((request, response, next) => {
  if (request.headers.authorization === `Bearer ${process.env['AUTH_TOKEN']}`) next();
  else response.status(401).json({ error: 40100, message: 'unauthorized' });
});
app.use(express.json());

app.post('/plants', async (request, response) => {
  const { id, name, tag } = request.body as NewPlant;
  await pool.query({
    name: 'insert-plant',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag ?? null],
  });
  response.json({ name, tag });
});

app.get('/plants/:id', async (request, response) => {
  const id = Number(request.params.id);
  if (!Number.isSafeInteger(id)) {
    response.status(400).json({ error: 40004, message: 'id must be an integer' });
    return;
  }
  const { rows } = await pool.query<Omit<NewPlant, 'id'>>({
    name: 'select-plant',
    text: 'SELECT name, tag FROM plants WHERE id = $1',
    values: [id],
  });
  if (rows[0]) response.json({ id, ...rows[0] });
  else response.status(404).json({ error: 40401, message: 'not found' });
});

app.get('/plants', async (request, response) => {
  const limit = Number(request.query['limit'] ?? 50);
  const after = Number(request.query['after'] ?? 0);
  if (!Number.isSafeInteger(limit) || !Number.isSafeInteger(after)) {
    response.status(400).json({ error: 40004, message: 'limit and after must be integers' });
    return;
  }
  const wanted = request.query['tag'];
  const { rows } = await pool.query<Omit<NewPlant, 'id'> & { id: string }>(
    wanted === undefined
      ? {
          name: 'select-plants',
          text: 'SELECT id, name, tag FROM plants WHERE id > $1 ORDER BY id LIMIT $2',
          values: [after, limit],
        }
      : {
          name: 'select-tagged-plants',
          text: 'SELECT id, name, tag FROM plants WHERE id > $1 AND tag = $3 ORDER BY id LIMIT $2',
          values: [after, limit, wanted],
        },
  );
  response.json(rows.map(({ id, name, tag }) => ({ id: Number(id), name, tag })));
});

app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
  const taken = error instanceof DatabaseError && error.code === '23505';
  response.status(taken ? 400 : 500).json({ error: taken ? 40009 : 50000, message: String(error) });
});

const server = app.listen(0, '127.0.0.1', () => announce(server));
