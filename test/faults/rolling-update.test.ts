import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Crowd } from '../support/crowd.js';
import { lastingPort } from '../support/lasting-port.js';
import { startNginx } from '../support/nginx.js';
import type { Nginx } from '../support/nginx.js';
import { OwnPostgres } from '../support/own-postgres.js';
import { Workspace } from '../support/process.js';
import { contradictions, inWords, isServed, tally } from '../support/reckoning.js';
import { Replica } from '../support/replica.js';

const TEMPLATE = fileURLToPath(new URL('nginx.conf', import.meta.url));

/** Creates that are served before, between and after the steps of an update. */
const SOME = 300;

let workspace: Workspace;
let postgres: OwnPostgres;
let replicas: Replica[];
let nginx: Nginx;
let url: string;

beforeEach(async () => {
  [workspace, postgres] = await Promise.all([Workspace.create(), OwnPostgres.start()]);
  const port = await lastingPort();
  const environment = {
    DATABASE_URL: postgres.url,
    PUBLIC_BASE_URL: `https://localhost:${port}/api`,
    TRUST_PROXY: 'loopback',
  };
  replicas = await Promise.all([1, 2].map(() => Replica.start(workspace, environment)));
  const [first, second] = replicas.map((replica) => String(replica.port));
  nginx = await startNginx(workspace.folder, TEMPLATE, port, { FIRST: first!, SECOND: second! });
  url = `https://localhost:${port}/api/plants`;
});

afterEach(async () => {
  await nginx.stop();
  await workspace.remove();
  await postgres.stop();
});

it('takes two replicas behind a proxy through three updates with not one failed request', async () => {
  const crowd = new Crowd({ urls: [url], ca: nginx.ca });
  await crowd.served(SOME);
  for (let update = 1; update <= 3; update += 1) {
    for (const replica of replicas) {
      expect(await replica.terminate()).toEqual({ code: 0, signal: null });
      await crowd.served(SOME);
      await replica.startAgain();
      await crowd.served(SOME);
    }
  }
  const attempts = await crowd.stop();

  expect(attempts.filter((attempt) => !isServed(attempt)).map(inWords)).toEqual([]);
  expect(contradictions(attempts, await postgres.plants())).toEqual([]);
  expect(tally(attempts)).toMatchObject({
    '200': expect.any(Number) as number,
    '40003': expect.any(Number) as number,
    '40009': expect.any(Number) as number,
  });
  // A connection that is made just when a replica stops listening is reset by the system. All others are
  // served to their end: nothing else was left for nginx to send again.
  const cutOff = nginx.complaints.match(/prematurely closed|Connection reset/g) ?? [];
  expect(cutOff.length).toBeLessThanOrEqual(2 * replicas.length);
  for (const { service } of replicas) expect(service.stderr).toBe('');
});
