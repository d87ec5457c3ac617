import { LRUCache } from 'lru-cache';

/** Between two log lines of a kind, in milliseconds. */
const INTERVAL = 60_000;

const MAX_KINDS = 100;

interface Kind {
  readonly since: number;
  repeated: number;
}

/** Decides which errors to log when many requests fail alike: each kind once in a minute, with a count. */
export class RepeatedErrors {
  /** Evicts the kind that was logged longest ago, because `peek` does not count as a use. */
  private readonly kinds = new LRUCache<string, Kind>({ max: MAX_KINDS });

  /** @returns how many of this kind were not logged since the last one; `undefined` if this one should not be logged */
  note(error: unknown, where: string): number | undefined {
    const kind = `${where} ${kindOf(error)}`;
    const known = this.kinds.peek(kind);
    const now = performance.now();
    if (known !== undefined && now - known.since < INTERVAL) {
      known.repeated += 1;
      return undefined;
    }
    this.kinds.set(kind, { since: now, repeated: 0 });
    return known?.repeated ?? 0;
  }
}

/** Without the values in the message. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  try {
    const code = 'code' in error ? String(error.code) : '';
    const message = error.message.slice(0, 200).replaceAll(/"[^"]*"|'[^']*'|\d+/g, '…');
    return `${error.name} ${code} ${message}`;
  } catch {
    // Its properties cannot be read, or are no strings.
    return 'Error';
  }
}
