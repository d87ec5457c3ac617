import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import type { ServiceProcess } from '../support/process.js';
import { TOKEN } from '../support/test-service.js';
import { containerOf, render } from './manifests.js';

/* Needs openssl, too. */

const SESSIONS = `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
  WHERE application_name = 'plant-store'`;

describe('the connection to the database of CloudNativePG', () => {
  let folder: string;
  let postgres: OwnPostgres;
  let workspace: Workspace;
  /** The parameters of the URL in the Secret of the service. */
  let byGuide: string;

  /** A certificate that vouches for itself. */
  async function certificate(name: string): Promise<string> {
    const file = join(folder, `${name}.crt`);
    const subject = '-subj /CN=database -addext subjectAltName=IP:127.0.0.1 -days 2';
    const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
    await promisify(execFile)('openssl', [
      ...`req -x509 ${key} ${subject}`.split(' '),
      '-keyout',
      join(folder, `${name}.key`),
      '-out',
      file,
    ]);
    return file;
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-tls-'));
    postgres = await OwnPostgres.start({
      ssl: 'on',
      ssl_cert_file: await certificate('server'),
      ssl_key_file: join(folder, 'server.key'),
    });
    workspace = await Workspace.create();
    const guide = await readFile('docs/kubernetes.md', 'utf8');
    [, byGuide = ''] = /from-literal=uri="[^"?]*(\?[^"]*)"/.exec(guide) ?? [];
  });

  afterAll(async () => {
    await workspace.remove();
    await postgres.stop();
    await rm(folder, { recursive: true });
  });

  /** As in a pod, where the Secrets hold this address and this authority. The operator writes no parameters. */
  async function start(authority: string, host = '127.0.0.1', kind = 'Deployment') {
    const manifests = await render('production');
    const { template } = manifests.templates.find(({ name }) => name.startsWith(kind))!;
    const container = containerOf(template);
    const { mountPath } = container.volumeMounts![0]!;
    const variables = container
      .env!.filter(({ name }) => name !== 'DATABASE_SERVICE_ROLE')
      .map(({ name, value }) => [name, value!.replace(mountPath, folder)]);
    await copyFile(authority, join(folder, 'ca.crt'));
    const parameters = kind === 'Deployment' ? byGuide.replace(mountPath, folder) : '';
    await writeFile(join(folder, 'uri'), postgres.url.replace('127.0.0.1', host) + parameters);
    const environment = Object.fromEntries(variables) as Record<string, string>;
    return workspace.start({ NODE_ENV: 'production', AUTH_TOKEN: TOKEN, ...environment });
  }

  async function end(service: ServiceProcess): Promise<void> {
    service.kill('SIGTERM');
    expect(await service.exit()).toEqual({ code: 0, signal: null });
  }

  async function expectRefusal(service: ServiceProcess, complaint: RegExp): Promise<void> {
    expect(await service.exit()).toEqual({ code: 1, signal: null });
    expect(service.complaints).toEqual([expect.stringMatching(complaint)]);
  }

  it.each(['Deployment', 'Job'])('is encrypted in the %s', async (kind) => {
    const service = await start(join(folder, 'server.crt'), '127.0.0.1', kind);
    await service.listening();
    const sessions = await postgres.query(SESSIONS);
    expect(sessions).toContainEqual({ ssl: true });
    expect(sessions).not.toContainEqual({ ssl: false });
    await end(service);
  });

  it('survives a change of certificates', async () => {
    const service = await start(join(folder, 'server.crt'));
    const { url } = await service.listening();
    await copyFile(await certificate('server'), join(folder, 'ca.crt'));
    await postgres.query('SELECT pg_reload_conf()');
    for (const pid of await postgres.backends()) {
      await postgres.query(`SELECT pg_terminate_backend(${pid})`);
    }
    await vi.waitFor(async () => {
      const { status } = await fetch(`${url}/plants/1`, {
        headers: { Authorization: `Bearer ${TOKEN}` },
      });
      expect(status).toBe(404);
    }, 10_000);
    await end(service);
  });

  it('is verified for each of several hosts', async () => {
    const { port } = new URL(postgres.url);
    // The certificate is for 127.0.0.1 only.
    const service = await start(join(folder, 'server.crt'), `localhost:${port},127.0.0.1`);
    await service.listening();
    await end(service);

    const refused = await start(join(folder, 'server.crt'), `localhost:${port},localhost`);
    await expectRefusal(
      refused,
      /cannot connect to localhost:\d+, localhost:\d+: .*does not match certificate/,
    );
  });

  it('is refused for a server with another certificate authority', async () => {
    const other = await certificate('other');
    for (const kind of ['Deployment', 'Job']) {
      await expectRefusal(
        await start(other, '127.0.0.1', kind),
        /^plant-store: DATABASE_URL: cannot connect to 127\.0\.0\.1:\d+: self-signed certificate: sslrootcert must name the certificate of its authority$/,
      );
    }
  });

  it('is refused for a server with the certificate of another host', async () => {
    for (const kind of ['Deployment', 'Job']) {
      await expectRefusal(
        await start(join(folder, 'server.crt'), 'localhost', kind),
        /^plant-store: DATABASE_URL: cannot connect to localhost:\d+: .*does not match certificate/,
      );
    }
  });
});
