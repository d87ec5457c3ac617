import { setTimeout as sleep } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { PATIENCE } from '../../packages/framework/test/support/patience.js';
import { TOKEN } from '../support/crowd.js';
import { it } from '../support/deployment.js';
import { buildToolLibrary } from '../support/tool-library.js';

const KILLS = 10;
const CLIENTS = 16;

/** Adds tools and lends each, with an idempotency key for each request. */
class Borrowers {
  /** All answers, by key. A request that was sent again should have the same one. */
  readonly answers = new Map<string, Set<string>>();
  readonly lost: string[] = [];
  #visits = 0;

  get visits(): number {
    return this.#visits;
  }

  /** Visits until a request has no answer. */
  async come(url: string): Promise<void> {
    for (;;) {
      this.#visits += 1;
      if (!(await this.visit(url, this.#visits))) return;
    }
  }

  /** Sends the requests of all visits again. */
  async comeAgain(url: string): Promise<void> {
    const left = Array.from({ length: this.#visits }, (_, index) => index + 1);
    const one = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        expect(await this.visit(url, next)).toBe(true);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, one));
  }

  private async visit(url: string, number: number): Promise<boolean> {
    const tool = await this.send(`${url}/tools`, `tool-${number}`, { name: `Tool ${number}` });
    if (tool === undefined) return false;
    const { id } = JSON.parse(tool) as { readonly id: number };
    const loan = { toolId: id, borrower: 'Ada' };
    return (await this.send(`${url}/loans`, `loan-${number}`, loan)) !== undefined;
  }

  /** Returns the body of the answer, or `undefined` if there was none. */
  private async send(url: string, key: string, content: object): Promise<string | undefined> {
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    };
    let status: number;
    let text: string;
    try {
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(content) });
      status = answer.status;
      text = await answer.text();
    } catch {
      this.lost.push(key);
      return undefined;
    }
    expect([key, status]).toEqual([key, 201]);
    this.answers.set(key, (this.answers.get(key) ?? new Set()).add(text));
    return text;
  }
}

it('stores one row for each idempotency key, whenever the service is killed', async ({
  postgres,
  workspace,
}) => {
  const main = await buildToolLibrary();
  const environment = { DATABASE_URL: postgres.url, AUTH_TOKEN: TOKEN, LOG_FORMAT: 'json' };
  const borrowers = new Borrowers();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const service = workspace.start(environment, { main });
    const { url } = await service.listening();
    const before = borrowers.answers.size;
    const coming = Promise.all(Array.from({ length: CLIENTS }, () => borrowers.come(url)));
    await vi.waitUntil(() => borrowers.answers.size >= before + 100, {
      timeout: PATIENCE,
      interval: 1,
    });
    // At a random moment, not always right after answers.
    await sleep(kill % 5);
    service.kill('SIGKILL');
    expect(await service.exit()).toEqual({ code: null, signal: 'SIGKILL' });
    await coming;
  }
  const last = workspace.start(environment, { main });
  const { url } = await last.listening();
  const [before] = await postgres.query('SELECT count(*)::integer AS keys FROM idempotency_keys');
  // Kills hit requests that were performed, and not answered.
  expect(before!['keys']).toBeGreaterThan(borrowers.answers.size);
  await borrowers.comeAgain(url);
  last.kill('SIGTERM');
  await last.exit();

  // A kill interrupted requests of all clients.
  expect(borrowers.lost).toHaveLength(KILLS * CLIENTS);
  const differing = [...borrowers.answers].filter(([, { size }]) => size !== 1);
  expect(differing).toEqual([]);
  const { visits } = borrowers;
  const [stored] = await postgres.query(`SELECT
    (SELECT count(*)::integer FROM tools) AS tools,
    (SELECT count(DISTINCT name)::integer FROM tools) AS names,
    (SELECT count(*)::integer FROM tools WHERE borrower = 'Ada') AS lent,
    (SELECT count(*)::integer FROM loans) AS loans,
    (SELECT count(*)::integer FROM loan_changes WHERE kind = 'created') AS records,
    (SELECT count(*)::integer FROM idempotency_keys WHERE answer IS NOT NULL) AS keys`);
  expect(stored).toEqual({
    tools: visits,
    names: visits,
    lent: visits,
    loans: visits,
    records: visits,
    keys: 2 * visits,
  });
});
