import { LRUCache } from 'lru-cache';

/** Between two log lines of one kind of failure, in milliseconds. */
const INTERVAL = 60_000;

/** Most kinds that are told apart. */
const MAX_KINDS = 100;

interface Kind {
  readonly since: number;
  repeated: number;
}

/** Which failures to log, when every request may fail in the same way: each kind once in a minute, and counted. */
export class RepeatedFailures {
  /** Forgets the kind that was logged longest ago, because `peek` does not count as a use. */
  private readonly kinds = new LRUCache<string, Kind>({ max: MAX_KINDS });

  /**
   * @param where it happened, such as a route
   * @returns how many were not logged since the last of this kind; `undefined` if this one should not be logged
   */
  note(failure: unknown, where: string): number | undefined {
    const kind = `${where} ${kindOf(failure)}`;
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

/** The failure without the values that its message may contain. */
function kindOf(failure: unknown): string {
  if (!(failure instanceof Error)) return typeof failure;
  try {
    const code = 'code' in failure ? String(failure.code) : '';
    const message = failure.message.slice(0, 200).replaceAll(/"[^"]*"|'[^']*'|\d+/g, '…');
    return `${failure.name} ${code} ${message}`;
  } catch {
    // Its properties cannot be read, or are no texts.
    return 'Error';
  }
}
