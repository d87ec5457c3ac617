import { fastify } from 'fastify';
import { DatabaseError, Pool } from 'pg';
import { announce } from './announce.js';

/* What people write by hand with Fastify and pg. */

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] ?? '', max: 10 });
const app = fastify();

app.addHook('onRequest', (request, reply, done) => {
  if (request.headers.authorization === `Bearer ${process.env['AUTH_TOKEN']}`) done();
  else void reply.status(401).send({ error: 40100, message: 'unauthorized' });
});

app.post<{ Body: NewPlant }>('/plants', async (request) => {
  const { id, name, tag } = request.body;
  await pool.query({
    name: 'insert-plant',
    text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3)',
    values: [id, name, tag ?? null],
  });
  return { name, tag };
});

app.get<{ Params: { id: string } }>('/plants/:id', async (request, reply) => {
  const id = Number(request.params.id);
  if (!Number.isSafeInteger(id)) {
    return reply.status(400).send({ error: 40004, message: 'id must be an integer' });
  }
  const { rows } = await pool.query<Omit<NewPlant, 'id'>>({
    name: 'select-plant',
    text: 'SELECT name, tag FROM plants WHERE id = $1',
    values: [id],
  });
  if (rows[0]) return { id, ...rows[0] };
  return reply.status(404).send({ error: 40401, message: 'not found' });
});

app.get<{ Querystring: { limit?: string; after?: string; tag?: string } }>(
  '/plants',
  async (request, reply) => {
    const limit = Number(request.query.limit ?? 50);
    const after = Number(request.query.after ?? 0);
    if (!Number.isSafeInteger(limit) || !Number.isSafeInteger(after)) {
      return reply.status(400).send({ error: 40004, message: 'limit and after must be integers' });
    }
    const wanted = request.query.tag;
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
    return rows.map(({ id, name, tag }) => ({ id: Number(id), name, tag }));
  },
);

app.setErrorHandler((error, _request, reply) => {
  const taken = error instanceof DatabaseError && error.code === '23505';
  return reply
    .status(taken ? 400 : 500)
    .send({ error: taken ? 40009 : 50000, message: String(error) });
});

await app.listen({ host: '127.0.0.1', port: 0 });
announce(app.server);
