import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';

/** Debian keeps it where only root looks. */
const PATH = `${process.env['PATH']}:/usr/sbin`;

/** A proxy that listens with TLS. */
export interface Nginx {
  /** Everything it has complained of. */
  readonly complaints: string;
  /** Certificate to be trusted. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** Starts nginx in a folder, with a configuration whose `${NAME}`s are replaced, and with a new certificate. */
export async function startNginx(
  folder: string,
  template: string,
  port: number,
  values: Readonly<Record<string, string>>,
): Promise<Nginx> {
  const all: Record<string, string> = { ...values, FOLDER: folder, PORT: String(port) };
  const configuration = (await readFile(template, 'utf8')).replaceAll(
    /\$\{([A-Z]+)\}/g,
    (_, name: string) => all[name] ?? '',
  );
  await writeFile(join(folder, 'nginx.conf'), configuration);
  const certificate = join(folder, 'certificate.pem');
  const subject = '-subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2';
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  await promisify(execFile)('openssl', [
    ...`req -x509 ${key} ${subject}`.split(' '),
    '-keyout',
    join(folder, 'key.pem'),
    '-out',
    certificate,
  ]);
  const ca = await readFile(certificate, 'utf8');

  const child = spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    env: { PATH },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  await vi.waitFor(() => isListening(port, ca), { timeout: 10_000 });
  return {
    ca,
    get complaints() {
      return complaints;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isListening(port: number, ca: string): Promise<void> {
  const asked = request({ host: 'localhost', port, ca, path: '/' }).end();
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
  answer.resume();
}
