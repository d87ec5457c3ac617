import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  vi,
} from 'vitest';
import { PATIENCE } from '../../framework/test/support/patience.js';
import { createTestDatabase } from '../../framework/test/support/test-database.js';
import type { TestDatabase } from '../../framework/test/support/test-database.js';
import { TOKEN } from '../../framework/test/support/tokens.js';
import { accept, isSigned, Receiver, status } from '../../webhooks/test/support/receiver.js';
import { ENVIRONMENT, WebhookService } from '../../webhooks/test/support/webhook-service.js';
import type { OpenApiDocument } from '../src/resources.js';
import { runWith, startWith } from './support/tool-library.js';

let database: TestDatabase;
let service: WebhookService;
let document: OpenApiDocument;
let receiver: Receiver;

const urlOf = ({ service: { address } }: WebhookService) => `http://127.0.0.1:${address.port}`;

const envOf = (url: string) => ({ TOOL_LIBRARY_URL: url, TOOL_LIBRARY_TOKEN: TOKEN });

beforeAll(async () => {
  database = await createTestDatabase();
  service = await WebhookService.start(database);
  document = (await (await fetch(`${urlOf(service)}/openapi.json`)).json()) as OpenApiDocument;
});

beforeEach(async () => {
  await database.query('DELETE FROM webhooks');
  receiver = await Receiver.start();
});

afterEach(() => receiver.stop());

afterAll(async () => {
  await service.stop();
  await database.drop();
});

const eventually = <T>(check: () => T) => vi.waitFor(check, PATIENCE);

const webhooks = (...args: readonly string[]) =>
  runWith(document, ['webhooks', ...args], envOf(urlOf(service)));

/** Creates a webhook with the command. @returns its id */
async function created(...args: readonly string[]): Promise<string> {
  const { stdout } = await webhooks('create', ...args, '--json');
  return (JSON.parse(stdout) as { readonly id: string }).id;
}

/** A server in place of the service. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('webhooks', () => {
  it('are created with a secret, listed, shown and removed', async () => {
    const url = receiver.url('/a');
    const { code, stdout, stderr } = await webhooks('create', url, '--kinds', 'created', 'removed');
    expect(stdout).toMatch(/^whsec_\S{44}\n$/);
    const [, id = ''] = /^created the webhook (\S{36})\nits secret is shown only now\n$/.exec(
      stderr,
    )!;
    expect(code).toBe(0);
    const list = await webhooks('list');
    expect(list.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'URL', 'KINDS', 'RESOURCES', 'PAUSED REASON', 'FAILING SINCE'],
      [id, url, 'created removed', 'all', '-', '-'],
      [''],
    ]);
    const shown = await webhooks('show', id, '--json');
    expect(JSON.parse(shown.stdout)).toEqual({
      id,
      url,
      kinds: ['created', 'removed'],
      resources: [],
    });
    expect((await webhooks('show', id)).stdout).toContain('kinds      created removed\n');
    expect(await webhooks('remove', id)).toEqual({
      code: 0,
      stdout: '',
      stderr: `removed the webhook ${id}\n`,
    });
    expect(JSON.parse((await webhooks('list', '--json')).stdout)).toEqual([]);
    const gone = await webhooks('show', id);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringMatching(/^tool-library: 40470 /)]);
  });

  it('get a test message, whose result is in the list of deliveries', async () => {
    const id = await created(receiver.url());
    expect(await webhooks('test', id)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'the message was delivered\n',
    });
    receiver.respond = status(410);
    const failed = await webhooks('test', id, '--json');
    expect(failed).toMatchObject({
      code: 3,
      stderr: 'tool-library: The response has the status 410.\n',
    });
    expect(JSON.parse(failed.stdout)).toMatchObject({ outcome: 'gone', status: 410 });
    const { stdout } = await webhooks('deliveries', id);
    const [header, ...rows] = stdout.trimEnd().split('\n');
    expect(header).toMatch(/^ID +TIME +TYPE +MESSAGE ID +OUTCOME +STATUS +REASON$/);
    expect(rows.map((row) => row.split(/ {2,}/).slice(4))).toEqual([
      ['gone', '410', '-'],
      ['delivered', '200', '-'],
    ]);
    const all = JSON.parse((await webhooks('deliveries', id, '--json')).stdout) as object[];
    expect(all).toHaveLength(2);
  });

  it('are updated, and can get all changes again', async () => {
    const id = await created(receiver.url('/a'), '--kinds', 'created', '--resources', 'tool');
    const url = receiver.url('/b');
    const updated = await webhooks('update', id, '--url', url, '--kinds', '--json');
    expect(JSON.parse(updated.stdout)).toEqual({ id, url, kinds: [], resources: ['tool'] });
    expect(updated.stderr).toBe(`updated the webhook ${id}\n`);
    await webhooks('update', id, '--resources', '--kinds', 'removed', 'created');
    const shown = await webhooks('show', id, '--json');
    expect(JSON.parse(shown.stdout)).toEqual({
      id,
      url,
      kinds: ['removed', 'created'],
      resources: [],
    });
  });

  it('get the message of a delivery again', async () => {
    const id = await created(receiver.url());
    await service.create(41);
    const delivery = await eventually(async () => {
      const { stdout } = await webhooks('deliveries', id, '--json');
      const [found] = JSON.parse(stdout) as { readonly id: number }[];
      expect(found).toBeDefined();
      return String(found!.id);
    });
    expect(await webhooks('resend', id, delivery)).toEqual({
      code: 0,
      stdout: '',
      stderr: 'the message was delivered\n',
    });
    expect(receiver.idsOf()).toEqual([41, 41]);
    receiver.respond = status(500);
    expect(await webhooks('resend', id, delivery)).toMatchObject({
      code: 3,
      stderr: 'tool-library: The response has the status 500.\n',
    });
  });

  it('are resumed, and get another secret', async () => {
    const id = await created(receiver.url());
    await database.query(`UPDATE webhooks SET paused_reason = 'gone', paused_at = now()`);
    expect((await webhooks('list')).stdout).toContain('  gone ');
    const resumed = await webhooks('resume', id, '--from', 'newest', '--json');
    expect(JSON.parse(resumed.stdout)).toMatchObject({ id });
    expect(resumed.stderr).toBe(`resumed the webhook ${id}\n`);
    const rotated = await webhooks('rotate-secret', id);
    expect(rotated.stderr).toContain(`replaced the secret of the webhook ${id}\n`);
    await service.create(1);
    await eventually(() => expect(receiver.idsOf()).toEqual([1]));
    // The former one signs, too.
    const [message] = receiver.received;
    expect(String(message!.headers['webhook-signature']).split(' ')).toHaveLength(2);
  });

  it.each([
    [['create', 'https://example.com', '--kinds', 'made'], 'created, removed, replaced'],
    [['create', 'https://example.com', '--resources', 'saw'], 'tool'],
    [['create', 'https://10.0.0.1'], '40070'],
    [['create'], "missing required argument 'url'"],
    [['show', '7'], '40004'],
    [['update', '7', '--kinds', 'made'], 'created, removed, replaced'],
    [['resend', '7', 'x'], 'It must be a 64-bit integer.'],
    [['resume', '7', '--from', 'here'], 'stopped, oldest, newest'],
  ])('with wrong arguments are not touched: %j', async (args, text) => {
    const { code, stdout, stderr } = await webhooks(...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(text)]);
  });

  it('are not created twice when the connection breaks', async () => {
    let requests = 0;
    const url = await serve((request) => {
      requests += 1;
      request.socket.destroy();
    });
    const args = ['webhooks', 'create', 'https://example.com'];
    const { code, stderr } = await runWith(document, args, envOf(url));
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^tool-library: .+\n$/)]);
    expect(requests).toBe(1);
  });
});

describe('listen', () => {
  /** Starts to listen, and waits until messages arrive. */
  async function listening(args: readonly string[] = [], stdout?: Writable) {
    const controller = new AbortController();
    const { signal } = controller;
    const options = { signal, ...(stdout && { stdout }) };
    const { text, code } = startWith(document, ['listen', ...args], envOf(urlOf(service)), options);
    const ready = () => expect(text.stderr).toContain(' sends its messages here, until Ctrl-C\n');
    await Promise.race([eventually(ready), code.then(() => ready())]);
    const end = () => {
      controller.abort('SIGINT');
      return code;
    };
    return { text, code, end };
  }

  const messagesIn = (text: string) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly data: unknown });

  const stored = () => database.query('SELECT * FROM webhooks');

  it('writes each message as it is, and removes its webhook at the end', async () => {
    const { text, end } = await listening(['--kinds', 'created', '--resources', 'tool']);
    await service.create(9_007_199_254_740_993n, 11);
    await service.remove(11);
    await service.create(12);
    await eventually(() => expect(messagesIn(text.stdout)).toHaveLength(3));
    expect(text.stdout).toContain('"data":{"id":9007199254740993,"name":"Saw"}');
    expect(new Set(messagesIn(text.stdout).map(({ type }) => type))).toEqual(
      new Set(['tool.created']),
    );
    expect(await end()).toBe(130);
    expect(text.stderr).toMatch(/\ntool-library: interrupted\n$/);
    expect(await stored()).toEqual([]);
  });

  it('forwards a message unchanged, and returns the status of the response', async () => {
    receiver.respond = status(500);
    const { text, end } = await listening(['--forward-to', receiver.url('/hook')]);
    const [, secret = ''] = /signed with (\S+)\n/.exec(text.stderr)!;
    await service.create(21);
    await eventually(() => expect(text.stderr).toContain(` tool.created: 500 from `));
    const [message] = receiver.of('/hook');
    expect(isSigned(message!, secret)).toBe(true);
    expect(message!.headers['content-type']).toBe('application/json');
    expect(text.stdout).toBe(`${message!.text}\n`);
    const failed = { last_error: 'The response has the status 500.', holder: null };
    await eventually(async () => expect(await stored()).toMatchObject([failed]));
    receiver.respond = accept;
    const [webhook] = await stored();
    await webhooks('resume', String(webhook!['id']));
    await eventually(() => expect(text.stderr).toContain(` tool.created: 200 from `));
    await receiver.stop();
    await service.create(22);
    await eventually(() => expect(text.stderr).toContain(' has not responded: ECONNREFUSED\n'));
    expect(await end()).toBe(130);
    receiver = await Receiver.start();
  });

  it('shows a test message, and rejects what somebody else sends', async () => {
    const { text, end } = await listening();
    const [webhook] = await stored();
    expect(text.stdout).toBe('');
    await webhooks('test', String(webhook!['id']));
    expect(messagesIn(text.stdout)).toMatchObject([{ type: 'webhook.test' }]);
    const url = String(webhook!['url']);
    const forged = { method: 'POST', body: '{"type":"tool.created","data":{}}' };
    expect((await fetch(url, forged)).status).toBe(400);
    expect(text.stderr).toContain('rejected a message without a valid signature\n');
    expect((await fetch(url)).status).toBe(413);
    await end();
    expect(messagesIn(text.stdout)).toHaveLength(1);
  });

  it('ends when its output does', async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) =>
        done(Object.assign(new Error('EPIPE'), { code: 'EPIPE', syscall: 'write' })),
    });
    const { code } = await listening([], broken);
    await service.create(31);
    expect(await code).toBe(141);
    expect(await stored()).toEqual([]);
  });

  it.each([
    ['WEBHOOK_ALLOWED_NETWORKS=loopback', { WEBHOOK_SECRET_KEY: ENVIRONMENT.WEBHOOK_SECRET_KEY }],
    ['WEBHOOK_SECRET_KEY', { WEBHOOK_ALLOWED_NETWORKS: 'loopback' }],
  ])('says that the service needs %s', async (variable, environment) => {
    const other = await WebhookService.start(database, environment);
    onTestFinished(() => other.stop());
    const { code, stdout, stderr } = await runWith(document, ['listen'], envOf(urlOf(other)));
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^tool-library: (40070|50170) [^.]+: set /);
    expect(stderr).toContain(`: set ${variable}`);
    expect(await stored()).toEqual([]);
  });

  it('says that the service is on another machine, and names a webhook that it cannot remove', async () => {
    const id = '01920000-0000-7000-8000-000000000001';
    const url = await serve(({ method, url: path = '' }, response) => {
      const [code, body] = path.endsWith('/test')
        ? [200, { outcome: 'failed', reason: 'The connection was refused.' }]
        : [201, { id, secret: 'whsec_MTIz' }];
      response.writeHead(code, { 'Content-Type': 'application/json' });
      if (method === 'DELETE') response.destroy();
      else response.end(JSON.stringify(body));
    });
    const { code, stderr } = await runWith(document, ['listen'], envOf(url));
    expect(code).toBe(3);
    expect(stderr).toBe(
      `the webhook is left: tool-library webhooks remove ${id}
tool-library: no message arrives here: The connection was refused. Run the command on the machine of the service
`,
    );
  });

  it.each(['ftp://localhost/', 'localhost'])('does not forward to %s', async (url) => {
    const { code, stderr } = await runWith(document, ['listen', '--forward-to', url]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('It must be an http or https URL.'),
    ]);
  });
});
