import { canonical, isObject, parseJson } from './json.js';
import type { Json } from './json.js';

/** What a client asked of one row, and learnt. */
export interface RowOperation {
  readonly kind: 'create' | 'get' | 'replace' | 'patch' | 'remove' | 'restore';
  /** Those properties that are compared. */
  readonly body?: Json;
  readonly ifMatch?: string | undefined;
  /** On one clock. Without `end`, nobody knows whether it had, has or will have an effect. */
  readonly begin: number;
  readonly end?: number | undefined;
  readonly outcome?: 'done' | 'missing' | 'stale' | 'conflict';
  /** What the response contains of the properties that are compared. */
  readonly content?: Json;
  readonly etag?: string | undefined;
}

/** The content of a row as a text. Empty: there is no row. After {@link REMOVED}, the content of a row that keeps its id. */
type State = string;

const REMOVED = '-';

/** The begin or the end of an operation, in a list by time. */
interface Moment {
  readonly operation: number;
  /** Of the begin of an operation that has an end. */
  end?: Moment;
  isBegin: boolean;
  previous?: Moment | undefined;
  next?: Moment | undefined;
}

const MAX_STATES = 500_000;

/**
 * Whether there is an order of the operations on a row that explains all responses (Wing and Gong, with Lowe's cache of states).
 * Returns what is wrong otherwise.
 *
 * @param keepsId whether a removed row keeps its id, so that only a restore brings it back
 */
export function explain(given: readonly RowOperation[], keepsId = false): string | undefined {
  const operations = given.toSorted((one, other) => one.begin - other.begin);
  const contents = new Map<string, State>();
  for (const { etag, content } of operations) {
    if (etag === undefined || content === undefined) continue;
    const state = canonical(content);
    const other = contents.get(etag) ?? state;
    if (other !== state) return `${other} and ${state} have the entity tag ${etag}`;
    contents.set(etag, state);
  }
  const isExplained = (some: readonly RowOperation[]) => isLinearizable(some, contents, keepsId);
  if (isExplained(operations)) return undefined;
  const ends = operations.flatMap(({ end }) => end ?? []).toSorted((one, other) => one - other);
  const wrong = ends.find((end) => !isExplained(until(operations, end)));
  const lines = until(operations, wrong ?? Infinity)
    .slice(-12)
    .map(inWords);
  return `no order of the operations explains the response of the last:\n${lines.join('\n')}`;
}

/** The operations that began before a response arrived. Those that were still running are open. The one of the response is the last. */
function until(operations: readonly RowOperation[], time: number): readonly RowOperation[] {
  const known: RowOperation[] = operations
    .filter(({ begin }) => begin <= time)
    .map((each) => ((each.end ?? Infinity) <= time ? each : opened(each)));
  const order = ({ end }: RowOperation) => (end === time ? Infinity : (end ?? time));
  return known.toSorted((one, other) => order(one) - order(other));
}

function opened(operation: RowOperation): RowOperation {
  return { ...operation, end: undefined };
}

function inWords({ kind, body, ifMatch, end, outcome, content }: RowOperation): string {
  const request = [kind, ...(body ? [canonical(body)] : []), ...(ifMatch ? ['if', ifMatch] : [])];
  const read = content === undefined ? [] : [canonical(content)];
  const response = end === undefined ? ['no response'] : [outcome, ...read];
  return [...request, '→', ...response].join(' ');
}

function isLinearizable(
  operations: readonly RowOperation[],
  contents: ReadonlyMap<string, State>,
  keepsId: boolean,
): boolean {
  const head = momentsOf(operations);
  const isClosed = (moment: Moment) => moment.end !== undefined;
  let left = operations.filter(({ end }) => end !== undefined).length;
  let state: State = '';
  let performed = 0n;
  const seen = new Set<string>();
  const stack: { readonly begin: Moment; readonly state: State; readonly performed: bigint }[] = [];
  let moment = head.next;
  // What is still open when nothing is left may never happen.
  while (left > 0) {
    if (moment?.isBegin) {
      const after = perform(operations[moment.operation]!, state, contents, keepsId);
      const also = performed | (1n << BigInt(moment.operation));
      const key = `${also.toString(36)} ${after}`;
      if (after === undefined || seen.has(key)) {
        moment = moment.next;
        continue;
      }
      if (seen.size >= MAX_STATES) throw new Error('the history of a row has too many orders');
      seen.add(key);
      stack.push({ begin: moment, state, performed });
      [state, performed] = [after, also];
      if (isClosed(moment)) left -= 1;
      unlink(moment);
      if (moment.end) unlink(moment.end);
      moment = head.next;
    } else {
      const last = stack.pop();
      if (last === undefined) return false;
      ({ state, performed } = last);
      if (isClosed(last.begin)) left += 1;
      if (last.begin.end) link(last.begin.end);
      link(last.begin);
      moment = last.begin.next;
    }
  }
  return true;
}

function momentsOf(operations: readonly RowOperation[]): Moment {
  const moments = operations.flatMap(({ begin, end }, operation) => {
    const first: Moment = { operation, isBegin: true };
    if (end === undefined) return [{ time: begin, moment: first }];
    first.end = { operation, isBegin: false };
    return [
      { time: begin, moment: first },
      { time: end, moment: first.end },
    ];
  });
  // What happens at one time is concurrent.
  const sorted = moments.toSorted(
    (one, other) =>
      one.time - other.time || Number(other.moment.isBegin) - Number(one.moment.isBegin),
  );
  const head: Moment = { operation: -1, isBegin: false };
  let previous = head;
  for (const { moment } of sorted) {
    moment.previous = previous;
    previous.next = moment;
    previous = moment;
  }
  return head;
}

function unlink({ previous, next }: Moment): void {
  if (previous) previous.next = next;
  if (next) next.previous = previous;
}

/** Undoes {@link unlink}, in the opposite order. */
function link(moment: Moment): void {
  if (moment.previous) moment.previous.next = moment;
  if (moment.next) moment.next.previous = moment;
}

function contentOf(state: State): Json {
  const content = parseJson(state);
  return isObject(content) ? content : {};
}

/** What the framework promises for an operation on its own: the content afterwards. `undefined`: not with this response. */
function perform(
  { kind, body = {}, ifMatch, end, outcome, content }: RowOperation,
  before: State,
  contents: ReadonlyMap<string, State>,
  keepsId: boolean,
): State | undefined {
  const isOpen = end === undefined;
  const result = (expected: RowOperation['outcome'], after: State) => {
    if (isOpen) return after;
    const isAsRead = content === undefined || outcome !== 'done' || canonical(content) === after;
    return outcome === expected && isAsRead ? after : undefined;
  };
  if (kind === 'create') {
    const wanted = canonical(body);
    return before === '' || before === wanted ? result('done', wanted) : result('conflict', before);
  }
  const isRemoved = before.startsWith(REMOVED);
  if (kind === 'restore' && before !== '') {
    return result('done', isRemoved ? before.slice(REMOVED.length) : before);
  }
  if (before === '' || isRemoved) return result('missing', before);
  const isStale = ifMatch !== undefined && ifMatch !== '*' && contents.get(ifMatch) !== before;
  if (isStale) return result('stale', before);
  if (kind === 'get') return result('done', before);
  if (kind === 'replace') return result('done', canonical(body));
  if (kind === 'patch') {
    return result('done', canonical({ ...contentOf(before), ...body }));
  }
  // A removed row has no content to compare.
  const after = keepsId ? REMOVED + before : '';
  return isOpen || outcome === 'done' ? after : undefined;
}
