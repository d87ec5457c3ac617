import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ENVIRONMENT } from './execute.js';

/** A service that `npm start` has started. */
export interface RunningService {
  readonly url: string;
  readonly token: string;
  /** The address of health checks and metrics, without `http://`. */
  readonly management: string;
  readonly stop: () => Promise<void>;
}

/** Starts the service in this folder, and waits for its token, which is the last that it prints of itself. */
export async function startService(root: string): Promise<RunningService> {
  const service = spawn('npm', ['start'], {
    cwd: root,
    env: { ...ENVIRONMENT, PORT: '0', MANAGEMENT_PORT: '0', LOG_FORMAT: 'json' },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    if (service.pid === undefined || service.exitCode !== null) return;
    process.kill(-service.pid, 'SIGTERM');
    await once(service, 'exit');
  };
  let url = '';
  let management = '';
  for await (const line of createInterface({ input: service.stdout })) {
    management ||= /"management":"([^"]+)"/.exec(line)?.[1] ?? '';
    url ||= /^ +Tool Library +(\S+)/.exec(line)?.[1] ?? '';
    const token = /^ +Token +(\S+)/.exec(line)?.[1];
    if (token !== undefined) return { url, token, management, stop };
  }
  throw new Error('the service has printed no token');
}
