/** Milliseconds until the pool tries to get another connection: after the first rejection, and after many in a row. */
const PAUSE = { first: 1_000, last: 30_000 } as const;

/**
 * How many connections a pool may have. The server can allow fewer than the configuration, for all its clients. Once
 * it has rejected one, requests wait for the existing connections, and sometimes one tries to get another.
 */
export class ConnectionLimit {
  private readonly configured: number;
  /** Connections of the pool when the server rejected another. */
  private allowed: number;
  private isTrying = false;
  private pause: number = PAUSE.first;
  private nextTry: NodeJS.Timeout | undefined;

  /** @param pool its maximum changes */
  constructor(private readonly pool: { max: number }) {
    this.configured = pool.max;
    this.allowed = pool.max;
  }

  get isLowered(): boolean {
    return this.allowed < this.configured;
  }

  /** @param connections of the pool when the server rejects another */
  noteLimit(connections: number): void {
    this.allow(Math.max(1, connections));
    this.isTrying = false;
    if (this.nextTry !== undefined) return;
    this.nextTry = setTimeout(() => {
      this.nextTry = undefined;
      this.isTrying = true;
      this.pool.max = this.allowed + 1;
    }, this.pause).unref();
    this.pause = Math.min(2 * this.pause, PAUSE.last);
  }

  noteConnection(connections: number): void {
    if (connections <= this.allowed) return;
    if (!this.isTrying) {
      // It was requested before the server rejected another.
      this.allow(connections);
      return;
    }
    this.isTrying = false;
    this.pause = PAUSE.first;
    this.allow(this.configured);
  }

  close(): void {
    clearTimeout(this.nextTry);
  }

  private allow(connections: number): void {
    this.allowed = connections;
    this.pool.max = connections;
  }
}
