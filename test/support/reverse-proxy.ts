import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { lastingPort } from './lasting-port.js';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import type { Workspace } from './process.js';
import type { Replica } from './replica.js';

/** Debian keeps proxies where only root looks. */
const PATH = `${process.env['PATH']}:/usr/sbin`;

/** A program that listens with TLS, and passes on what it is sent. */
export interface ReverseProxy {
  /** Everything it has written to stdout. */
  readonly log: string;
  /** Everything it has written to stderr. */
  readonly complaints: string;
  /** Certificate to be trusted. */
  readonly ca: string;
  stop(): Promise<void>;
}

interface ReverseProxyOptions {
  /** Where it finds its configuration and its certificate, and may write. */
  readonly folder: string;
  /** The configuration, in which each `${NAME}` is replaced. */
  readonly template: string;
  readonly port: number;
  readonly values: Readonly<Record<string, string>>;
}

export function startHaproxy(options: ReverseProxyOptions): Promise<ReverseProxy> {
  return startReverseProxy(options, 'haproxy', ['-db', '-f']);
}

export function startNginx(options: ReverseProxyOptions): Promise<ReverseProxy> {
  return startReverseProxy(options, 'nginx', ['-e', 'stderr', '-p', options.folder, '-c']);
}

/** nginx with its defaults: it speaks HTTP/1.0 to the service. The URL is one without TLS. */
export async function startDefaultNginx(
  { folder }: Workspace,
  replica: Replica,
): Promise<ReverseProxy & { readonly port: number; readonly url: string }> {
  const [port, plain] = [await lastingPort(), await lastingPort()];
  const values = { SERVICE: String(replica.port), PLAIN: String(plain) };
  const template = 'test/faults/nginx-defaults.conf';
  const proxy = await startNginx({ folder, template, port, values });
  return Object.assign(proxy, { port, url: `http://127.0.0.1:${plain}` });
}

/** What a configuration for two replicas needs. */
export function placesOf([first, second]: readonly Replica[]): Record<string, string> {
  return {
    FIRST: String(first!.port),
    SECOND: String(second!.port),
    FIRSTMANAGEMENT: String(first!.managementPort),
    SECONDMANAGEMENT: String(second!.managementPort),
  };
}

/**
 * Resolves when the program listens, with a configuration and a certificate of its own.
 *
 * @param options of the program, the last of which names the configuration
 */
async function startReverseProxy(
  { folder, template, port, values }: ReverseProxyOptions,
  program: string,
  options: readonly string[],
): Promise<ReverseProxy> {
  const all: Record<string, string> = { ...values, FOLDER: folder, PORT: String(port) };
  const configuration = join(folder, basename(template));
  const filledIn = (await readFile(template, 'utf8')).replaceAll(
    /\$\{([A-Z]+)\}/g,
    (_, name: string) => all[name] ?? '',
  );
  await writeFile(configuration, filledIn);
  const ca = await createCertificate(folder);

  const child = spawn(program, [...options, configuration], {
    env: { PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let log = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  try {
    await vi.waitFor(() => isListening(port, ca), PATIENCE);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    ca,
    get log() {
      return log;
    },
    get complaints() {
      return complaints;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Writes `certificate.pem` and, where HAProxy looks for it, its key. */
async function createCertificate(folder: string): Promise<string> {
  const certificate = join(folder, 'certificate.pem');
  const subject = '-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2';
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  await promisify(execFile)('openssl', [
    ...`req -x509 ${key} ${subject}`.split(' '),
    '-keyout',
    `${certificate}.key`,
    '-out',
    certificate,
  ]);
  return readFile(certificate, 'utf8');
}

async function isListening(port: number, ca: string): Promise<void> {
  const socket = connect({ host: 'localhost', port, ca, servername: 'localhost' });
  await once(socket, 'secureConnect');
  // To its end, or the proxy would log a failure.
  await once(socket.resume().end(), 'close');
}
