import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Each worker has ports of its own: a port whose server is away for a while looks free to others. */
const PORTS = 2_500;
const FIRST = 10_000 + PORTS * (Number(process.env['VITEST_POOL_ID'] ?? 0) % 8);

const given = new Set<number>();

/**
 * A port that is free, and stays so while what listens on it is away: below those that systems give to
 * outgoing connections. It is given to one caller only: it looks free until that caller listens.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, FIRST + PORTS);
    if (given.has(port)) continue;
    given.add(port);
    const probe = createServer().listen(port, '127.0.0.1');
    try {
      await once(probe, 'listening');
    } catch {
      continue;
    }
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
