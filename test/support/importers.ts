import { setTimeout as sleep } from 'node:timers/promises';
import { TOKEN } from './crowd.js';

/** Where ids begin, beyond those of other clients. */
const FIRST_ID = 1_000_000;

const LINES = 200;

/** Clients that send one file after the other. Some break off. */
export class Importers {
  /** Files that were answered whole. */
  imported = 0;
  private next = FIRST_ID;
  private ended = false;
  private readonly clients: Promise<unknown>;

  /** @param urls of `/plants` of each replica */
  constructor(urls: readonly string[]) {
    this.clients = Promise.all(urls.map((url) => this.run(url)));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.clients;
  }

  private async run(url: string): Promise<void> {
    while (!this.ended) {
      const first = this.next;
      this.next += LINES;
      const lines = Array.from({ length: LINES }, (_, at) => `{"id":${first + at},"name":"i"}\n`);
      try {
        const response = await fetch(`${url}/import`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' },
          body: lines.join(''),
          signal: AbortSignal.timeout(15_000),
        });
        await response.text();
        this.imported += 1;
      } catch {
        // The replica was killed.
      }
      await sleep(50);
    }
  }
}
