import { randomUUID } from 'node:crypto';
import { createTestingService } from '@resource-service/framework/testing';
import { SignJWT } from 'jose';
import { DataSource } from 'typeorm';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { AppModule } from '../src/app.module.js';
import { CompletionJob } from '../src/completion/completion.job.js';
import { Confirmation } from '../src/confirmations/confirmation.entity.js';

const GUESTS_SECRET = 'a secret of the website, for tests';

const service = await createTestingService(AppModule, { GUESTS_SECRET });

afterAll(() => service.stop());

/** Header fields of a guest. */
async function as(guest: string, { expires = '1h', secret = GUESTS_SECRET } = {}) {
  const token = new SignJWT().setProtectedHeader({ alg: 'HS256' }).setAudience('guest-house');
  const claims = token.setSubject(guest).setExpirationTime(expires);
  return { Authorization: `Bearer ${await claims.sign(new TextEncoder().encode(secret))}` };
}

const ada = await as('ada');
const bob = await as('bob');

let roomId: number;

beforeEach(async () => {
  const room = { name: 'Garden view', kind: 'double', price: '120.00' };
  roomId = ((await service.send('POST', '/rooms', room)).body as { id: number }).id;
});

const book = (content: object = {}, headers: Record<string, string> = ada) => {
  const booking = { roomId, startsOn: '2100-07-01', nights: 2, ...content };
  return service.send('POST', '/bookings', booking, headers);
};

const TAKEN = { status: 409, body: { error: 40930 } };

const idsOf = (response: { body: unknown }) =>
  (response.body as { id: number }[]).map(({ id }) => id);

it('books a room for a guest, at the price of the room', async () => {
  const booked = await book({ note: 'Arrives late', owner: 'bob', price: '0.01' });
  expect(booked).toMatchObject({
    status: 201,
    body: { roomId, nights: 2, status: 'booked', price: '120.00', owner: 'ada' },
  });
  const found = await service.send('GET', booked.headers.get('Location')!, undefined, ada);
  expect(found.body).toEqual(booked.body);
  expect(await book({ roomId: 2 ** 52 })).toMatchObject({ status: 409, body: { error: 40931 } });
});

it('keeps the price, also of a request that is sent again', async () => {
  const key = { ...ada, 'Idempotency-Key': randomUUID() };
  const booked = await book({}, key);
  await service.send('PATCH', `/rooms/${roomId}`, { price: '150.00' });
  expect(await book({}, key)).toMatchObject({ status: 201, body: booked.body });
  expect(await book({ nights: 3 }, key)).toMatchObject({ status: 422 });
  expect(await book({ startsOn: '2100-08-01' })).toMatchObject({ body: { price: '150.00' } });
});

it.each([
  ['2100-06-30', 1, 201],
  ['2100-06-30', 2, 409],
  ['2100-07-01', 1, 409],
  ['2100-07-02', 1, 409],
  ['2100-07-03', 1, 201],
])(
  'of a room that is booked for two nights, books those from %s: %i',
  async (startsOn, nights, status) => {
    await book();
    expect((await book({ startsOn, nights }, bob)).status).toBe(status);
  },
);

it('books a room once, of many who ask at the same time', async () => {
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => book({ nights: 10 + n })),
  );
  const statuses = responses.map(({ status }) => status).toSorted();
  expect(statuses).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
});

it('moves a booking only to nights that are free', async () => {
  const { body } = await book();
  const path = `/bookings/${(body as { id: number }).id}`;
  await book({ startsOn: '2100-07-03' }, bob);
  const move = (nights: number) => service.send('PATCH', path, { nights }, ada);
  expect(await move(3)).toMatchObject(TAKEN);
  expect(await move(1)).toMatchObject({ status: 200, body: { nights: 1 } });
});

it('restores a booking while its nights are free', async () => {
  const booked = await book();
  const path = booked.headers.get('Location')!;
  const restore = () => service.send('POST', `${path}/restore`, undefined, ada);
  const remove = async () =>
    expect((await service.send('DELETE', path, undefined, ada)).status).toBe(204);
  await remove();
  expect(await service.send('GET', path, undefined, ada)).toMatchObject({
    status: 404,
    body: { error: 40430 },
  });
  expect(await restore()).toMatchObject({ status: 200, body: booked.body });
  await remove();
  await book({}, bob);
  expect(await restore()).toMatchObject(TAKEN);
});

it('shows guests their own bookings, and the staff all', async () => {
  const path = (await book()).headers.get('Location')!;
  await book({ startsOn: '2100-08-01' }, bob);
  const staff = { Authorization: `Bearer ${await service.tokenWith('bookings:manage')}` };
  for (const list of [`/rooms/${roomId}/bookings?count=true`, '/bookings?count=true']) {
    const count = async (headers: Record<string, string>) => {
      const { headers: fields } = await service.send('GET', list, undefined, headers);
      return Number(fields.get('X-Total-Count'));
    };
    expect(await count(staff)).toBe((await count(ada)) + (await count(bob)));
  }
  for (const [method, body] of [['GET'], ['PATCH', { nights: 1 }], ['DELETE']] as const) {
    expect((await service.send(method, path, body, bob)).status).toBe(404);
    expect((await service.send(method, path, body, staff)).status).toBeLessThan(300);
  }
});

it('lists the bookings of a room, with filters, in the order of their days', async () => {
  const august = (await book({ startsOn: '2100-08-01' })).body as { id: number };
  const july = (await book()).body as { id: number };
  const list = (query: string) =>
    service.send('GET', `/rooms/${roomId}/bookings?${query}`, undefined, ada);
  expect(idsOf(await list('sort=startsOn'))).toEqual([july.id, august.id]);
  expect(idsOf(await list('startsOnFrom=2100-07-02&status=booked'))).toEqual([august.id]);
  expect(idsOf(await list('status=completed'))).toEqual([]);
  const page = await list('limit=1&sort=startsOn');
  expect(page.headers.get('Link')).toMatch(
    new RegExp(`^</rooms/${roomId}/bookings\\?limit=1&sort=startsOn&after=${july.id}&`),
  );
  const other = `/rooms/${2 ** 52}/bookings`;
  expect(await service.send('GET', other, undefined, ada)).toMatchObject({
    body: { error: 40420 },
  });
});

it('keeps a room that has bookings', async () => {
  await book();
  const removed = await service.send('DELETE', `/rooms/${roomId}`);
  expect(removed).toMatchObject({ status: 409, body: { error: 40920 } });
});

it('completes bookings whose last night is over', async () => {
  const past = (await book({ startsOn: '2020-01-01' })).headers.get('Location')!;
  const future = (await book()).headers.get('Location')!;
  expect(await service.get(CompletionJob).run()).toBe(true);
  const statusOf = async (path: string) =>
    ((await service.send('GET', path)).body as { status: string }).status;
  expect(await statusOf(past)).toBe('completed');
  expect(await statusOf(future)).toBe('booked');
});

it('confirms each change to the guest, in their order', async () => {
  const { id } = (await book()).body as { id: number };
  await service.send('PATCH', `/bookings/${id}`, { nights: 1 }, ada);
  await service.send('DELETE', `/bookings/${id}`, undefined, ada);
  const confirmations = service.get(DataSource).getRepository(Confirmation);
  const texts = async () => {
    const found = await confirmations.find({
      where: { bookingId: BigInt(id) },
      order: { id: 'ASC' },
    });
    return found.map(({ text }) => text);
  };
  await expect
    .poll(texts, { timeout: 60_000 })
    .toEqual([
      `Booking ${id}: 2 nights from 2100-07-01, booked.`,
      `Booking ${id}: 1 nights from 2100-07-01, booked.`,
      `Booking ${id} is cancelled.`,
    ]);
}, 90_000);

it.each([
  ['of another secret', { secret: 'another secret of thirty-two bytes' }, 40101],
  ['that has expired', { expires: '-1h' }, 40102],
])('rejects a token %s', async (_, options, error) => {
  expect(await book({}, await as('ada', options))).toMatchObject({ status: 401, body: { error } });
});

it('lets guests read rooms, not change them', async () => {
  expect((await service.send('GET', `/rooms/${roomId}`, undefined, ada)).status).toBe(200);
  expect((await service.send('DELETE', `/rooms/${roomId}`, undefined, ada)).status).toBe(403);
});
