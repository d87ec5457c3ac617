import { EventEmitter, once } from 'node:events';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  Post,
  Req,
  UnauthorizedException,
} from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Allow, IsString } from 'class-validator';
import type { Request } from 'express';
import { errors, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { Column, DataSource, Entity, PrimaryColumn, Repository } from 'typeorm';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import {
  ERRORS,
  FrameworkModule,
  hasScope,
  Public,
  RequestSignal,
  RequireScope,
  ResourceModule,
  ServiceException,
} from '../../src/index.js';
import type { Principal, TokenVerifier } from '../../src/index.js';
import { OwnVerifier } from '../../src/auth/own-verifier.js';
import { createTestingService } from '../../src/testing.js';
import type { TestingService } from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { migrationOf } from '../support/running-service.js';

/* Credentials that only a service knows: of its own login, in a table of its own, and from a proxy that verifies certificates. */

const SECRET = new TextEncoder().encode('a secret of 32 bytes, for a test');

const EXPECTED = { algorithms: ['HS256'], issuer: 'lab' };

class LoginDto {
  @IsString()
  name!: string;
}

/** JWTs of `POST /login`. */
@Injectable()
class LoginVerifier implements TokenVerifier {
  static issue(name: string, scope: string, expires = '1h'): Promise<string> {
    const token = new SignJWT({ scope }).setProtectedHeader({ alg: 'HS256' });
    return token.setIssuer('lab').setSubject(name).setExpirationTime(expires).sign(SECRET);
  }

  async verify(token: string | undefined): Promise<Principal | undefined> {
    if (token === undefined) return undefined;
    try {
      const { payload } = await jwtVerify<{ scope: string }>(token, SECRET, EXPECTED);
      return { kind: 'login', id: payload.sub!, scopes: new Set(payload.scope.split(' ')) };
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new ServiceException(ERRORS.tokenExpired);
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

@Entity('sessions')
class Session {
  @PrimaryColumn('text')
  @Allow()
  readonly id!: string;

  @Column('text')
  @Allow()
  readonly member!: string;
}

@Module({
  imports: [
    ResourceModule.forFeature([Session], {
      migrations: [
        migrationOf('CREATE TABLE sessions (id text PRIMARY KEY, member text NOT NULL)'),
      ],
    }),
  ],
  exports: [ResourceModule],
})
class SessionsModule {}

@Injectable()
class SessionVerifier implements TokenVerifier {
  constructor(@InjectRepository(Session) private readonly sessions: Repository<Session>) {}

  async verify(token: string | undefined): Promise<Principal | undefined> {
    if (!token?.startsWith('session-')) return undefined;
    const session = await this.sessions.findOneBy({ id: token });
    if (session === null) throw new UnauthorizedException('the session has ended');
    return { kind: 'session', id: session.member, scopes: new Set(['bookings:read']) };
  }
}

/** The subject of a certificate that the proxy has verified. */
@Injectable()
class ProxyVerifier implements TokenVerifier {
  verify(_token: string | undefined, request: Request): Principal | undefined {
    const subject = request.get('X-Client-Subject');
    const isTrusted = request.app.get('trust proxy fn') as (address?: string) => boolean;
    if (subject === undefined || !isTrusted(request.socket.remoteAddress)) return undefined;
    const kind = /^kind=(.*)$/.exec(subject)?.[1] ?? 'mtls';
    return { kind, id: subject, scopes: 'all' };
  }
}

const watches = new EventEmitter();

@Controller()
class BookingsController {
  @Post('login')
  @HttpCode(200)
  @Public()
  async login(@Body() { name }: LoginDto): Promise<object> {
    return { token: await LoginVerifier.issue(name, 'bookings:read') };
  }

  @Get('bookings')
  @RequireScope('bookings:read', 'bookings:approve')
  list(@Req() { principal }: Request): object {
    const { kind, id } = principal!;
    return { kind, id, isApprover: hasScope(principal!, 'bookings:approve') };
  }

  @Post('bookings')
  @RequireScope('bookings:write')
  create(): void {}

  /** A response that lasts as long as its credentials. */
  @Get('watch')
  @RequireScope('bookings:read')
  async watch(@RequestSignal() signal: AbortSignal): Promise<object> {
    const aborted = once(signal, 'abort');
    watches.emit('begin');
    await aborted;
    const { status } = signal.reason as UnauthorizedException & { readonly status: number };
    return { ended: status };
  }
}

@Module({
  imports: [
    FrameworkModule.forRoot(IDENTITY, {
      auth: {
        imports: [SessionsModule],
        verifiers: [LoginVerifier, SessionVerifier, ProxyVerifier],
        securitySchemes: { proxy: { type: 'apiKey', in: 'header', name: 'X-Client-Subject' } },
      },
    }),
    SessionsModule,
  ],
  providers: ENHANCERS,
  controllers: [BookingsController],
})
class AppModule {}

let service: TestingService;

beforeAll(async () => {
  vi.stubEnv('TEST_DATABASE_URL', inject('postgresUrl'));
  service = await createTestingService(AppModule, {
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMIT: '20',
    // Nobody is there: a token of the service's own never asks it.
    AUTH_JWT_ISSUER: 'http://127.0.0.1:1',
    AUTH_JWT_AUDIENCE: 'lab',
  });
});

afterAll(async () => {
  await service.stop();
  vi.unstubAllEnvs();
});

/** Without credentials, unless the fields have some. */
async function send(method: string, path: string, fields: Readonly<Record<string, string>> = {}) {
  const response = await fetch(service.url + path, { method, headers: fields });
  const { status, headers } = response;
  return { status, headers, body: JSON.parse((await response.text()) || 'null') as unknown };
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

async function failures(reason: string): Promise<number> {
  const metrics = await (await fetch(`${service.managementUrl}/metrics`)).text();
  return Number(new RegExp(`_credentials_total{reason="${reason}"} (\\d+)`).exec(metrics)![1]);
}

describe('a token of an own login', () => {
  it('identifies who has logged in', async () => {
    const { body } = await service.send('POST', '/login', { name: 'ada' });
    const { token } = body as { readonly token: string };
    expect(await send('GET', '/bookings', bearer(token))).toMatchObject({
      status: 200,
      body: { kind: 'login', id: 'ada', isApprover: false },
    });
  });

  it('has the scopes that it says, any of which is enough', async () => {
    const approver = bearer(await LoginVerifier.issue('grace', 'bookings:approve'));
    expect(await send('GET', '/bookings', approver)).toMatchObject({
      status: 200,
      body: { id: 'grace', isApprover: true },
    });
    const none = await send('GET', '/bookings', bearer(await LoginVerifier.issue('eve', 'a:b')));
    expect(none).toMatchObject({
      status: 403,
      body: {
        error: 40300,
        message: 'the operation needs the scope bookings:read or bookings:approve',
      },
    });
    expect(none.headers.get('WWW-Authenticate')).toContain(
      'scope="bookings:read bookings:approve"',
    );
    expect(await send('POST', '/bookings', approver)).toMatchObject({ status: 403 });
  });

  it('has a rate limit of its own', async () => {
    const token = bearer(await LoginVerifier.issue('busy', 'bookings:read'));
    const statuses: number[] = [];
    for (let i = 0; i < 21; i += 1) statuses.push((await send('GET', '/bookings', token)).status);
    expect(statuses).toEqual([...Array(20).fill(200), 429]);
    const other = bearer(await LoginVerifier.issue('idle', 'bookings:read'));
    expect((await send('GET', '/bookings', other)).status).toBe(200);
  });

  it('expires, which counts as for any token', async () => {
    const before = await failures('expired');
    const expired = bearer(await LoginVerifier.issue('ada', 'bookings:read', '1h ago'));
    const { status, headers, body } = await send('GET', '/bookings', expired);
    expect({ status, body }).toMatchObject({ status: 401, body: { error: 40102 } });
    expect(headers.get('WWW-Authenticate')).toContain('error="invalid_token"');
    expect(await failures('expired')).toBe(before + 1);
  });
});

describe('a session in a table', () => {
  it('identifies its member, until it ends', async () => {
    const sessions = service.get(DataSource).getRepository(Session);
    await sessions.insert({ id: 'session-1', member: 'bob' });
    const session = bearer('session-1');
    expect(await send('GET', '/bookings', session)).toMatchObject({
      body: { kind: 'session', id: 'bob' },
    });
    const begin = once(watches, 'begin');
    const watching = send('GET', '/watch', session);
    await begin;
    await sessions.delete('session-1');
    expect(await watching).toMatchObject({ status: 200, body: { ended: 401 } });
    const before = await failures('verifier');
    expect(await send('GET', '/bookings', session)).toMatchObject({
      status: 401,
      body: { error: 40119, message: 'the session has ended' },
    });
    expect(await failures('verifier')).toBe(before + 1);
  });
});

describe('a header field of a trusted proxy', () => {
  it('identifies who sends no token', async () => {
    expect(await send('GET', '/bookings', { 'X-Client-Subject': 'CN=carol' })).toMatchObject({
      status: 200,
      body: { kind: 'mtls', id: 'CN=carol' },
    });
  });

  it('without it, nobody is known', async () => {
    expect(await send('GET', '/bookings')).toMatchObject({ status: 401, body: { error: 40100 } });
  });

  it.each([
    ['an id that a record cannot have', `CN=${'x'.repeat(300)}`, 401, 40101],
    ['a kind that a record cannot have', 'kind=a:b', 500, 50000],
    // Callers of one static token share their idempotency keys.
    ['the kind of a static token', 'kind=static-token', 500, 50000],
    ['the kind of a job', 'kind=system', 500, 50000],
  ])('cannot make a principal with %s', async (_, subject, status, error) => {
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect(await send('GET', '/bookings', { 'X-Client-Subject': subject })).toMatchObject({
      status,
      body: { error },
    });
  });
});

it('a verifier that hangs rejects the request as temporarily unavailable', async () => {
  const hanging = new OwnVerifier({ verify: () => new Promise(() => {}) }, 10);
  await expect(hanging.verify('session-a', {} as Request)).rejects.toMatchObject({
    kind: ERRORS.tokenIssuerUnavailable,
  });
});

it('the document describes them', async () => {
  const { body } = await service.send('GET', '/openapi.json');
  expect(body).toMatchObject({
    info: { description: expect.stringContaining('header or `proxy`, unless') },
    security: [{ bearerAuth: [] }, { proxy: [] }],
    components: { securitySchemes: { bearerAuth: {}, proxy: { type: 'apiKey', in: 'header' } } },
  });
});

it('the tokens of the framework are accepted as before', async () => {
  expect(await service.send('GET', '/bookings')).toMatchObject({ body: { kind: 'static-token' } });
  const issued = bearer(await service.tokenWith('bookings:read'));
  expect(await send('GET', '/bookings', issued)).toMatchObject({ body: { kind: 'issued-token' } });
  const { privateKey } = await generateKeyPair('EdDSA');
  const foreign = new SignJWT()
    .setProtectedHeader({ alg: 'EdDSA' })
    .setIssuer('http://127.0.0.1:1');
  expect(await send('GET', '/bookings', bearer(await foreign.sign(privateKey)))).toMatchObject({
    status: 503,
    body: { error: 50303 },
  });
});
