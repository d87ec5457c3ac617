import { randomUUID } from 'node:crypto';
import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { IsInt, IsString } from 'class-validator';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  FrameworkModule,
  Idempotency,
  IdempotencyModule,
  RequestActor,
  RequestIdempotencyKey,
  RequireScope,
} from '../../src/index.js';
import type { Actor } from '../../src/index.js';
import type { Service } from '../../src/app/service.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { start } from '../support/start.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { AUDIENCE, TestIssuer } from '../support/test-issuer.js';

/* Who shares what with whom: the quota, idempotency keys and the responses that are kept for them. */

class TicketDto {
  @IsInt()
  number!: number;

  @IsString()
  owner!: string;
}

let tickets = 0;

@Controller('tickets')
class TicketsController {
  constructor(private readonly idempotency: Idempotency) {}

  @Post()
  @HttpCode(200)
  @RequireScope('tools:write')
  draw(
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() key: string | undefined,
  ): Promise<TicketDto> {
    // The former name of the actor.
    const request = { key, operation: 'draw a ticket', origin: actor, content: {} };
    return this.idempotency.once(request, TicketDto, () =>
      Promise.resolve({ number: (tickets += 1), owner: actor.principal.id }),
    );
  }

  @Get('owner')
  @RequireScope('tools:read')
  owner(@RequestActor() { principal }: Actor): object {
    return { kind: principal.kind, id: principal.id };
  }
}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY), IdempotencyModule],
  providers: ENHANCERS,
  controllers: [TicketsController],
})
class AppModule {}

const QUOTA = 4;

let database: TestDatabase;
let issuer: TestIssuer;
let service: Service;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createTestDatabase(), TestIssuer.start()]);
  service = await start(AppModule, database, {
    AUTH_JWT_ISSUER: issuer.url,
    AUTH_JWT_AUDIENCE: AUDIENCE,
    RATE_LIMIT: String(QUOTA),
  });
});

afterAll(async () => {
  await service.stop();
  await issuer.close();
  await database.drop();
});

type Claims = Readonly<Record<string, unknown>>;

/** Sends a request with a token of its own for these claims. */
async function send(method: string, path: string, claims: Claims, key?: string) {
  // One without a subject unless the claims have one.
  const token = await issuer.token({ sub: undefined, jti: randomUUID(), ...claims });
  const response = await fetch(`http://127.0.0.1:${service.address.port}/tickets${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(key !== undefined && { 'Idempotency-Key': key }),
    },
  });
  return { status: response.status, body: await response.json() };
}

it('a subject and a client with the same id have keys and kept responses of their own', async () => {
  const id = randomUUID();
  const key = randomUUID();
  const draw = (claims: Claims) => send('POST', '', claims, key);
  const [subject, client] = [await draw({ sub: id }), await draw({ client_id: id })];
  expect(subject).toMatchObject({ status: 200, body: { owner: id } });
  expect(client).toMatchObject({ status: 200, body: { owner: `client_id:${id}` } });
  expect(client.body).not.toEqual(subject.body);
  // Each gets what is theirs again, and so does the same client in the other claim.
  expect(await draw({ sub: id, client_id: 'app' })).toEqual(subject);
  expect(await draw({ azp: id })).toEqual(client);
  const impostor = await draw({ sub: `client_id:${id}` });
  expect(impostor).toMatchObject({ status: 200, body: { owner: `sub:client_id:${id}` } });
  expect(impostor.body).not.toMatchObject({ number: (client.body as TicketDto).number });
});

it('a subject and a client with the same id have quotas of their own', async () => {
  const id = randomUUID();
  const statuses = async (claims: Claims, count: number) => {
    const all: number[] = [];
    for (let i = 0; i < count; i += 1) all.push((await send('GET', '/owner', claims)).status);
    return all;
  };
  const whole = Array.from({ length: QUOTA }, () => 200);
  expect(await statuses({ sub: id }, QUOTA + 1)).toEqual([...whole, 429]);
  expect(await statuses({ client_id: id }, QUOTA)).toEqual(whole);
  expect(await statuses({ azp: id }, 1)).toEqual([429]);
});

it('a token that identifies nobody is refused, whatever else it says', async () => {
  const refused = {
    status: 401,
    body: { error: 40101, message: 'the bearer token is not valid' },
  };
  for (const claims of [
    {},
    { sub: '' },
    { sub: null },
    { sub: 7 },
    { sub: ['gardener'] },
    { sub: ' ', client_id: 'app' },
    { client_id: '' },
    { client_id: null, azp: 'app' },
    { azp: '' },
  ]) {
    expect(await send('GET', '/owner', claims)).toEqual(refused);
  }
});
