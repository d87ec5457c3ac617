/** A plant as a client sends it. */
export interface WantedPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** A create request and its outcome. */
export interface Attempt {
  readonly plant: WantedPlant;
  /** Whether the body was a NewPlant; else it had the id, and a name that is none. */
  readonly valid: boolean;
  /** On the clock of `performance.now()`. */
  readonly sentAt: number;
  /** Milliseconds until the answer, or the end of the connection. */
  readonly took: number;
  readonly outcome: Outcome;
}

export type Outcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly body: unknown;
      readonly retryAfter: string | undefined;
    }
  /** The connection was refused, or ended without an answer. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** Neither answered nor closed in time. */
  | { readonly kind: 'hung' };

/**
 * Compares the answers with the stored plants, and returns a sentence for each contradiction. Only the clients may have
 * changed the table.
 */
export function contradictions(
  attempts: readonly Attempt[],
  stored: readonly WantedPlant[],
): string[] {
  const byId = new Map(stored.map((plant) => [plant.id, plant]));
  const found = attempts.flatMap((attempt) => {
    const fault = faultOf(attempt, byId.get(attempt.plant.id));
    return fault === undefined ? [] : [`${inWords(attempt)} ${fault}`];
  });
  const wanted = new Set(attempts.filter(({ valid }) => valid).map(({ plant }) => keyOf(plant)));
  for (const plant of stored) {
    if (!wanted.has(keyOf(plant))) found.push(`${keyOf(plant)} is stored, but nobody sent it`);
  }
  return found;
}

/** Refusals of creates and look-ups while something is amiss: the queue, the pool, the database, the process. */
const TEMPORARY = new Set(['50300', '50301', '50302', '50304', '50305', '50310', '50311']);

/** What is wrong with the answer to the look-up of an acknowledged plant: only an outage may hide the plant. */
export function misreading(plant: WantedPlant, outcome: Outcome): string | undefined {
  if (outcome.kind === 'answered') {
    if (TEMPORARY.has(answerOf(outcome))) return undefined;
    const { status, body } = outcome;
    if (status === 200 && isObject(body)) {
      // Parsed as a double, the id has lost digits.
      const { id, ...content } = body;
      if (typeof id === 'number' && isContentOf(plant, content)) return undefined;
    }
  }
  return `${keyOf(plant)} is acknowledged, but was read as ${JSON.stringify(outcome)}`;
}

/** Counts the attempts by outcome, such as `{ '200': 12, '40009': 3, lost: 1 }`. */
export function tally(attempts: readonly Attempt[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { outcome } of attempts) {
    const key = outcome.kind === 'answered' ? answerOf(outcome) : outcome.kind;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

export function isRefusedFor503({ outcome }: Attempt): boolean {
  return outcome.kind === 'answered' && outcome.status === 503;
}

export function isAcknowledged({ outcome }: Attempt): boolean {
  return outcome.kind === 'answered' && outcome.status === 200;
}

/** Whether the outcome is 200, or a 400 for a wrong plant. */
export function isServed({ outcome }: Attempt): boolean {
  return outcome.kind === 'answered' && outcome.status < 500;
}

type Answered = Extract<Outcome, { kind: 'answered' }>;

function faultOf(
  { plant, valid, outcome }: Attempt,
  stored: WantedPlant | undefined,
): string | undefined {
  if (outcome.kind === 'hung') return 'was neither answered nor cut off';
  // Then it is there whole or not at all, as is asked of everything that is stored.
  if (outcome.kind === 'lost') return undefined;
  switch (answerOf(outcome)) {
    case '200':
      if (!valid) return 'is no plant';
      if (!isContentOf(plant, outcome.body)) return 'was answered with another content';
      if (stored === undefined) return 'is lost';
      return isSame(plant, stored) ? undefined : `is stored as ${keyOf(stored)}`;
    case '40003':
      if (valid) return 'is a plant';
      return stored === undefined ? undefined : `is stored as ${keyOf(stored)}`;
    case '40009':
      if (stored === undefined) return 'lost its id to nobody';
      return isSame(plant, stored) ? 'is stored all the same' : undefined;
    default:
      if (!TEMPORARY.has(answerOf(outcome))) {
        return 'has an answer that the interface does not promise';
      }
      return /^\d+$/.test(outcome.retryAfter ?? '') ? undefined : 'was not told when to come back';
  }
}

/** The number of an Error, the status of anything else. */
function answerOf({ status, body }: Answered): string {
  const error = isObject(body) ? body['error'] : undefined;
  return Math.floor(Number(error) / 100) === status ? String(error) : String(status);
}

function isContentOf({ name, tag }: WantedPlant, body: unknown): boolean {
  if (!isObject(body) || body['name'] !== name) return false;
  return tag === null
    ? Object.keys(body).length === 1
    : body['tag'] === tag && Object.keys(body).length === 2;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isSame(one: WantedPlant, other: WantedPlant): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf({ id, name, tag }: WantedPlant): string {
  return `${id} ${JSON.stringify([name, tag])}`;
}

/** An attempt in one line, for whoever reads that it failed. */
export function inWords({ plant, outcome, took }: Attempt): string {
  return `${keyOf(plant)} (${JSON.stringify(outcome)} after ${Math.round(took)} ms)`;
}
