import { AsyncLocalStorage } from 'node:async_hooks';
import { Controller, Get, Injectable, Logger as NestLogger, Module, Param } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_PROBE_WAIT } from '../../src/observability/health.js';
import { FrameworkModule, Health, Logger, Metrics, Public, Transactions } from '../../src/index.js';
import type { Service } from '../../src/app/service.js';
import {
  createLogger,
  HTTP_LIMITS,
  Metrics as ProcessMetrics,
  NO_TRACER,
  readConfig,
  startService,
  withDatabase,
} from '../../src/testing.js';
import { ENHANCERS } from '../support/enhancers.js';
import { IDENTITY } from '../support/identity.js';
import { PATIENCE } from '../support/patience.js';
import { createTestDatabase } from '../support/test-database.js';
import type { TestDatabase } from '../support/test-database.js';
import { TOKEN } from '../support/tokens.js';

/* Metrics, health checks and log lines of a service's own. */

/** What the checks of the service do. */
const outside = {
  smtp: (_signal: AbortSignal): unknown => undefined,
  licence: (_signal: AbortSignal): unknown => undefined,
};

@Injectable()
class BookingsService {
  private readonly count;
  private readonly pay;
  private readonly countAll;

  constructor(
    metrics: Metrics,
    health: Health,
    private readonly log: Logger,
    private readonly transactions: Transactions,
  ) {
    this.countAll = metrics.counter('books_total', 'All.');
    this.count = metrics.counter('bookings_total', 'Bookings.', 'status', ['made', 'cancelled']);
    this.pay = metrics.histogram('payment_seconds', 'Payments.', [0.1, 1], 'by', ['card']);
    metrics.gauge('bookings_open', 'Open bookings.', () => 7);
    health.add('smtp', (signal) => outside.smtp(signal), { timeout: PATIENCE });
    health.add('licence', (signal) => outside.licence(signal), { timeout: 100, affects: 'ready' });
  }

  async book(id: bigint): Promise<void> {
    await this.transactions.run(async (manager) => manager.query('SELECT 1'));
    this.countAll();
    this.count('made', 2);
    this.pay('card', 0.5);
    this.log.info({ event: 'booked', booking: id, by: { name: 'Ada' } }, 'booked');
    this.log.child({ booking: 1 }).warn('full');
    this.log.error(new Error('no paper'));
  }
}

@Controller('bookings')
class BookingsController {
  private readonly nestLogger = new NestLogger('Bookings');

  constructor(private readonly bookings: BookingsService) {}

  @Get('plain')
  @Public()
  plain(): void {
    this.nestLogger.log({ event: 'asked', booking: 7 }, 'asked');
    this.nestLogger.warn({ event: 'nothing' });
  }

  @Get(':id')
  @Public()
  book(@Param('id') id: string): Promise<void> {
    return this.bookings.book(BigInt(id));
  }
}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY)],
  providers: [...ENHANCERS, BookingsService],
  controllers: [BookingsController],
})
class AppModule {}

@Controller('bookings')
class PlainController {
  @Get()
  @Public()
  list(): readonly string[] {
    return [];
  }
}

@Module({
  imports: [FrameworkModule.forRoot(IDENTITY)],
  providers: ENHANCERS,
  controllers: [PlainController],
})
class PlainModule {}

let lines: Record<string, unknown>[] = [];
let database: TestDatabase;
let service: Service;

function start(app: Type): Promise<Service> {
  const environment = { AUTH_TOKEN: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' };
  const logger = createLogger('info', {
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  return startService(
    app,
    withDatabase(readConfig(IDENTITY, environment), database.url),
    { logger, metrics: new ProcessMetrics(IDENTITY), tracer: NO_TRACER },
    new AbortController().signal,
    HTTP_LIMITS,
  );
}

const get = (path: string, requestId: string, { address } = service) =>
  fetch(`http://127.0.0.1:${address.port}${path}`, { headers: { 'X-Request-Id': requestId } });

async function ask(path: string) {
  const response = await fetch(`http://127.0.0.1:${service.management.port}${path}`);
  return { status: response.status, text: await response.text() };
}

beforeAll(async () => {
  database = await createTestDatabase();
  service = await start(AppModule);
});

afterAll(async () => {
  await service.stop();
  await database.drop();
});

beforeEach(() => {
  lines = [];
});

describe('the metrics of a service', () => {
  it('are at /metrics, and start at zero', async () => {
    expect((await ask('/metrics')).text).toContain('bookings_total{status="made"} 0\n');
    expect((await get('/bookings/1', 'a')).status).toBe(200);
    const { text } = await ask('/metrics');
    expect(text).toContain('bookings_total{status="made"} 2\n');
    expect(text).toContain('bookings_total{status="cancelled"} 0\n');
    expect(text).toContain('\nbooks_total 1\n');
    expect(text).toContain('payment_seconds_bucket{le="1",by="card"} 1\n');
    expect(text).toContain('\nbookings_open 7\n');
  });
});

describe('the log of a service', () => {
  it('has fields, and the id of the request, also after a transaction', async () => {
    await Promise.all(['a', 'b'].map((id, n) => get(`/bookings/900719925474099${n}`, id)));
    for (const requestId of ['a', 'b']) {
      const own = lines.filter((line) => line['requestId'] === requestId);
      expect(own).toMatchObject([
        { level: 30, msg: 'booked', event: 'booked', by: { name: 'Ada' } },
        { level: 40, msg: 'full', booking: 1 },
        { level: 50, msg: 'no paper', err: { type: 'Error', message: 'no paper' } },
        { msg: 'request', route: '/bookings/:id', status: 200 },
      ]);
    }
  });

  it("has the fields that Nest's logger gets", async () => {
    await get('/bookings/plain', 'c');
    expect(lines).toMatchObject([
      { level: 30, msg: 'asked', event: 'asked', booking: 7, context: 'Bookings' },
      { level: 40, event: 'nothing', context: 'Bookings' },
      { msg: 'request' },
    ]);
  });

  it('costs nothing for each request of a service that does not inject it', async () => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    const other = await start(PlainModule);
    expect((await get('/bookings', 'd', other)).status).toBe(200);
    expect(run).not.toHaveBeenCalled();
    run.mockRestore();
    await other.stop();
  });
});

describe('the health checks of a service', () => {
  const ok = { status: 'ok' };
  const allOk = { status: 200, body: { status: 'ok', checks: { smtp: ok, licence: ok } } };

  async function probe() {
    const { status, text } = await ask('/health/ready');
    return { status, body: JSON.parse(text) as object };
  }

  /** A result is used for a while before the checks run again. */
  const untilProbed = (expected: object) =>
    vi.waitFor(async () => expect(await probe()).toEqual(expected), PATIENCE);

  it('are run once for concurrent probes, and reported', async () => {
    await untilProbed(allOk);
    const run = new Deferred();
    const smtp = vi.spyOn(outside, 'smtp').mockImplementation(() => run.promise);
    await vi.waitFor(async () => {
      await probe();
      expect(smtp).toHaveBeenCalled();
    }, PATIENCE);
    const asked = performance.now();
    expect(await Promise.all([probe(), probe()])).toEqual([allOk, allOk]);
    expect(performance.now() - asked).toBeGreaterThan(MAX_PROBE_WAIT - 5);
    expect(smtp).toHaveBeenCalledOnce();
    smtp.mockRestore();
    run.resolve();
    expect((await ask('/metrics')).text).toContain(
      'tool_library_health_check_up{check="smtp"} 1\n',
    );
    expect((await ask('/health/live')).text).toBe('{"status":"ok"}');
  });

  it('do not end readiness unless they say so', async () => {
    outside.smtp = () => Promise.reject(new Error('no route to host'));
    const smtp = { status: 'unavailable', reason: 'no route to host' };
    await untilProbed({ status: 200, body: { status: 'ok', checks: { smtp, licence: ok } } });
    outside.licence = () => {
      throw new Error('it has expired');
    };
    await untilProbed({
      status: 503,
      body: {
        status: 'unavailable',
        reason: 'licence: it has expired',
        checks: { smtp, licence: { status: 'unavailable', reason: 'it has expired' } },
      },
    });
    expect((await ask('/metrics')).text).toContain(
      'tool_library_health_check_up{check="smtp"} 0\n',
    );
    outside.smtp = outside.licence = () => undefined;
    await untilProbed(allOk);
    const linesOf = (name: string) => lines.filter(({ check }) => check === name);
    expect(linesOf('smtp')).toMatchObject([
      { level: 40, msg: 'a health check fails', reason: 'no route to host' },
      { level: 30, msg: 'a health check succeeds again' },
    ]);
    expect(linesOf('licence')).toMatchObject([
      { level: 40, msg: 'a health check fails' },
      { level: 30, msg: 'a health check succeeds again' },
    ]);
  });

  it.each([0, -1, 0.5, NaN, Infinity, 60_001])('cannot have a timeout of %d ms', (timeout) => {
    const add = () => service.get(Health).add('printer', () => {}, { timeout });
    expect(add).toThrow('the timeout of the health check printer is not 1 to 60000 ms');
  });

  it('end at their timeout, and do not delay a probe longer than its bound', async () => {
    const run = new Deferred();
    let signal: AbortSignal | undefined;
    outside.smtp = () => run.promise;
    outside.licence = (given) => {
      signal = given;
      return new Promise(() => {});
    };
    const reason = 'no result after 100 ms';
    const licence = { status: 'unavailable', reason };
    await untilProbed({
      status: 503,
      body: {
        status: 'unavailable',
        reason: `licence: ${reason}`,
        // Its check still runs.
        checks: { smtp: ok, licence },
      },
    });
    expect(signal?.aborted).toBe(true);
    run.resolve();
    outside.smtp = outside.licence = () => undefined;
    await untilProbed(allOk);
  });
});

/** A run of a check that ends when a test says so. */
class Deferred {
  resolve = (): void => {};
  readonly promise = new Promise<void>((resolve) => (this.resolve = resolve));
}
