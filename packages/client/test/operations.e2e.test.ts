import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Body, Controller, Get, HttpCode, Injectable, Param, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiProperty,
  ApiPropertyOptional,
} from '@nestjs/swagger';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  allErrors,
  ApiErrors,
  ApiIdempotencyKey,
  ApiResource,
  Created,
  DtoOf,
  GeneratedIdRepository,
  INT64_COLUMN,
  Int64Field,
  Int64Pipe,
  isEqual,
  IsText,
  ListOf,
  NewOf,
  Representation,
  RequestActor,
  RequestIdempotencyKey,
  RequireScope,
  ServiceException,
  TextField,
  TextParameter,
} from '../../framework/src/index.js';
import type { Actor, Filled, Page } from '../../framework/src/index.js';
import {
  appOf,
  migrationOf,
  runningService,
} from '../../framework/test/support/running-service.js';
import { errorsOf } from '../../framework/test/support/errors.js';
import { IDENTITY } from '../../framework/test/support/identity.js';
import { TOKEN } from '../../framework/test/support/tokens.js';
import { writeClient } from '../src/generator/write-client.js';
import type { OpenApiDocument } from '../src/generator/write-client.js';

/* A resource that is neither replaced, patched nor removed, and operations of its own. */

const ERRORS = errorsOf({
  bookingNotFound: { number: 40_400_100, message: 'there is no such booking', remedy: 'Check it' },
  bookingClosed: { number: 40_900_100, message: 'the booking is closed', remedy: 'Make another' },
});

@Entity('bookings')
class Booking {
  @PrimaryGeneratedColumn('identity', INT64_COLUMN)
  @Int64Field({ description: 'The number of the booking.', example: 7 })
  readonly id!: Filled<bigint>;

  @Column('text')
  @TextField({ description: 'What is booked.', example: 'Microscope' })
  readonly item!: string;

  @Column('text')
  @TextField({ description: 'Where it stands.', example: 'requested' })
  readonly status!: string;
}

class BookingDto extends DtoOf(Booking) {}
class NewBookingDto extends NewOf(Booking) {}

class ListBookingsDto extends ListOf(Booking) {
  @TextParameter({ description: 'Only bookings with this status.', example: 'requested' })
  readonly status?: string;
}

class DecisionDto {
  @ApiProperty({ description: 'Why.' })
  @IsText()
  readonly reason!: string;
}

class ApprovalDto {
  @ApiProperty({ type: 'integer', format: 'int64', description: 'The number of the booking.' })
  readonly booking!: bigint;

  @ApiPropertyOptional({ type: String, description: 'Why.' })
  readonly reason?: string;
}

@Injectable()
class BookingsRepository extends GeneratedIdRepository<Booking, ListBookingsDto>(Booking, {
  name: 'bookings',
  dto: BookingDto,
  filters: { status: isEqual('status') },
  notFound: () => new ServiceException(ERRORS.bookingNotFound),
}) {}

@ApiResource({
  one: 'a booking',
  plural: 'bookings',
  dto: BookingDto,
  errors: { noSuch: ERRORS.bookingNotFound },
  examples: {
    create: {
      first: { summary: 'One', value: { id: 1, item: 'Microscope', status: 'requested' } },
    },
  },
})
@Controller('bookings')
class BookingsController {
  static readonly approvals: string[] = [];

  constructor(private readonly bookings: BookingsRepository) {}

  @Post()
  @RequireScope('tools:write')
  async create(
    @Body() booking: NewBookingDto,
    @RequestActor() actor: Actor,
    @RequestIdempotencyKey() idempotencyKey: string | undefined,
  ): Promise<Created<BookingDto>> {
    return new Created(await this.bookings.create(booking, { actor, idempotencyKey }));
  }

  @Get()
  @RequireScope('tools:read')
  list(@Query() query: ListBookingsDto): Promise<Page<ListBookingsDto>> {
    return this.bookings.list(query);
  }

  @Get(':id')
  @RequireScope('tools:read')
  async get(@Param('id', Int64Pipe) id: bigint): Promise<Representation<BookingDto>> {
    return new Representation(await this.bookings.find(id));
  }

  @Post(':id/approve')
  @RequireScope('tools:write')
  @ApiOperation({ operationId: 'approveBooking' })
  @ApiCreatedResponse({ type: ApprovalDto })
  @ApiErrors(ERRORS.bookingClosed)
  approve(@Param('id', Int64Pipe) id: bigint, @Body() { reason }: DecisionDto): ApprovalDto {
    if (reason === 'closed') throw new ServiceException(ERRORS.bookingClosed);
    BookingsController.approvals.push(`${id} ${reason}`);
    return { booking: id, reason };
  }

  @Post(':id/remind')
  @HttpCode(204)
  @RequireScope('tools:write')
  @ApiOperation({ operationId: 'remindOfBooking' })
  @ApiIdempotencyKey()
  @ApiNoContentResponse()
  remind(@Param('id') _id: string, @RequestIdempotencyKey() key: string | undefined): void {
    BookingsController.approvals.push(`key ${key}`);
  }

  @Get(':id/label')
  @RequireScope('tools:read')
  @ApiOperation({ operationId: 'labelOfBooking' })
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string' } } } })
  label(@Param('id') id: string): string {
    return `Booking ${id}`;
  }
}

const service = runningService(
  appOf(
    [Booking],
    [
      migrationOf(
        `CREATE TABLE bookings (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
          item text NOT NULL, status text NOT NULL)`,
      ),
    ],
    { controllers: [BookingsController], providers: [BookingsRepository] },
  ),
);

interface Client {
  readonly bookings: {
    create(booking: object): Promise<{ id: bigint }>;
    list(query: object): Promise<{ items: readonly { id: bigint }[] }>;
    get(id: bigint): Promise<object>;
  };
  readonly operations: Readonly<
    Record<string, (input?: object, options?: object) => Promise<unknown>>
  >;
}

let folder: string;
let program: { readonly ToolLibrary: new (options: object) => Client };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operations-'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
  const source = { identity: IDENTITY, document, errors: allErrors(), license: 'MIT' };
  await writeClient(source, join(folder, 'dist-client'));
  const file = pathToFileURL(join(folder, 'dist-client/dist/tool-library.js'));
  program = (await import(file.href)) as typeof program;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

beforeEach(async () => {
  BookingsController.approvals.length = 0;
  await service.database.empty();
});

/** A client that loses the first responses, after the service has sent them, and its requests. */
function clientLosing(lost = 0) {
  const requests: Request[] = [];
  const send = async (request: Request) => {
    requests.push(request.clone());
    const response = await fetch(request);
    if (requests.length > lost) return response;
    await response.text();
    throw new TypeError('the connection ended');
  };
  const options = { url: service.url, token: TOKEN, fetch: send };
  return { requests, client: new program.ToolLibrary(options) };
}

describe('a resource that lacks operations', () => {
  it('has the methods of those that it has', async () => {
    const { client } = clientLosing();
    const booking = { item: 'Laser', status: 'requested' };
    const { id } = await client.bookings.create(booking);
    await client.bookings.create({ ...booking, status: 'approved' });
    expect(await client.bookings.list({ status: 'requested' })).toMatchObject({
      items: [{ id, ...booking }],
    });
    expect(await client.bookings.get(id)).toMatchObject({ id, ...booking });
  });

  it('has no others for the compiler, nor in its README', async () => {
    await writeFile(
      join(folder, 'program.ts'),
      `import { ToolLibrary } from './dist-client/dist/tool-library.js';
const lab = new ToolLibrary({ url: 'http://127.0.0.1:1', token: 'secret' });
for await (const { item } of lab.bookings.all({ status: 'requested' })) item satisfies string;
// @ts-expect-error Bookings cannot be removed.
await lab.bookings.remove(7n);
// @ts-expect-error The list has no such filter.
await lab.bookings.list({ colour: 'red' });
const { booking } = await lab.operations.approveBooking({ id: 7n, body: { reason: 'free' } });
booking satisfies bigint;
// @ts-expect-error The id is needed.
await lab.operations.approveBooking({ body: { reason: 'free' } });
// @ts-expect-error The body has no such property.
await lab.operations.approveBooking({ id: 7n, body: { why: 'free' } });
(await lab.operations.remindOfBooking({ id: '7' })) satisfies undefined;
await lab.operations.remindOfBooking({ id: '7', 'Idempotency-Key': 'a' }, { signal: null });
(await (await lab.operations.labelOfBooking({ id: '7' })).text()) satisfies string;
`,
    );
    const tsc = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--exactOptionalPropertyTypes'];
    const language = ['--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'];
    const compile = [tsc, ...options, ...language, '--lib', 'es2022,dom', 'program.ts'];
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    const compiled = promisify(execFile)(process.execPath, compile, { cwd: folder });
    expect(await compiled.catch(({ stdout }: { stdout: string }) => stdout)).toMatchObject({
      stdout: '',
    });
    expect(await readFile(join(folder, 'dist-client/README.md'), 'utf8')).toContain(
      '- `service.bookings`: a `Resource` with `create`, `get`, `list`, `all`\n',
    );
  });
});

describe('another operation', () => {
  it('has its id, sends its parameters and its body, and keeps all digits', async () => {
    const { client, requests } = clientLosing();
    const input = { id: 9007199254740993n, body: { reason: 'free' } };
    expect(await client.operations['approveBooking']!(input)).toEqual({
      booking: 9007199254740993n,
      reason: 'free',
    });
    expect(new URL(requests[0]!.url).pathname).toBe('/bookings/9007199254740993/approve');
    const label = (await client.operations['labelOfBooking']!({ id: 'a/b' })) as Response;
    expect(await label.text()).toBe('Booking a/b');
    expect(await client.operations['remindOfBooking']!({ id: '7' })).toBeUndefined();
  });

  it('fails with the errors of the service', async () => {
    const { client } = clientLosing();
    const approve = client.operations['approveBooking']!;
    await expect(approve({ id: 7n, body: { reason: 'closed' } })).rejects.toMatchObject({
      name: 'ToolLibraryError',
      code: ERRORS.bookingClosed.number,
    });
    await expect(approve({ id: 7n, body: {} })).rejects.toMatchObject({ status: 400 });
  });

  it('sends nothing that is not exact, or has no place in the path', async () => {
    const { client, requests } = clientLosing();
    const { approveBooking, labelOfBooking } = client.operations;
    await expect(approveBooking!({ id: 1e21, body: {} })).rejects.toThrow(TypeError);
    for (const id of [undefined, '', '..']) {
      await expect(labelOfBooking!({ id })).rejects.toThrow(/^id is needed in the path/);
    }
    await expect(labelOfBooking!()).rejects.toThrow(TypeError);
    expect(requests).toEqual([]);
  });

  it('is not repeated if it may have been carried out', async () => {
    const { client, requests } = clientLosing(1);
    const input = { id: 7n, body: { reason: 'free' } };
    await expect(client.operations['approveBooking']!(input)).rejects.toThrow(TypeError);
    expect([requests.length, BookingsController.approvals]).toEqual([1, ['7 free']]);
  });

  it('is repeated if it is safe, or has an Idempotency-Key', async () => {
    const reading = clientLosing(1);
    await reading.client.operations['labelOfBooking']!({ id: '7' });
    expect(reading.requests).toHaveLength(2);
    const random = clientLosing(1);
    await random.client.operations['remindOfBooking']!({ id: '7' });
    const given = clientLosing(1);
    const input = { id: '7', 'Idempotency-Key': 'order-7' };
    await given.client.operations['remindOfBooking']!(input);
    const lacking = clientLosing(1);
    const missing = { id: '7', 'Idempotency-Key': undefined };
    await lacking.client.operations['remindOfBooking']!(missing);
    const [first, again, ...others] = BookingsController.approvals;
    const last = others.splice(-2);
    for (const made of [first, last[0]]) expect(made).toMatch(/^key [\da-f]{32}$/);
    expect([again, last[1]]).toEqual([first, last[0]]);
    expect(others).toEqual(['key order-7', 'key order-7']);
  });

  it('ends with its signal', async () => {
    const { client, requests } = clientLosing();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(client.operations['labelOfBooking']!({ id: '7' }, { signal })).rejects.toThrow(
      'enough',
    );
    expect(requests).toEqual([]);
  });
});
