import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { DATABASE_LIMITS } from '../../src/database/limits.js';
import { Cluster } from '../../src/database/connections/cluster.js';
import { Timelines } from '../../src/database/connections/timelines.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('a search for the primary that has failed leaves nothing behind', async () => {
  // Nobody may listen on this port.
  const url = 'postgres://tools@127.0.0.1:1/tools';
  const cluster = new Cluster(url, new Timelines(pino({ level: 'silent' })));
  const config = { connectionString: url, limits: { ...DATABASE_LIMITS, reply: 1_000 } };
  const { signal } = new AbortController();
  const search = async (times: number) => {
    for (let n = 0; n < times; n++) {
      await expect(cluster.findPrimary(config, signal)).rejects.toThrow('ECONNREFUSED');
    }
    // In two turns, because a signal is released after what refers to it.
    for (let turn = 0; turn < 2; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      collectGarbage();
    }
    return process.memoryUsage().heapUsed;
  };
  const before = await search(100);
  const grown = (await search(1_000)) - before;
  // The client of a search takes 10 kB. Compiled code and the like takes up to 3 MB in all.
  expect(grown).toBeLessThan(1_000 * 6_000);
});
