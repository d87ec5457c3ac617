import type { Exchange } from './exchange.js';
import type { TestedService } from './tested-service.js';
import { NotApplicable, Violation } from './violation.js';

/** What a check says of a service. */
export type Result =
  | { readonly name: string; readonly outcome: 'pass' }
  | {
      readonly name: string;
      readonly outcome: 'fail';
      readonly reason: string;
      /** The requests and responses that show it. */
      readonly exchanges: readonly Exchange[];
    }
  | { readonly name: string; readonly outcome: 'not applicable'; readonly reason: string };

/** One promise of the framework, for one part of a service. */
export interface Check {
  /** Such as `creates of tools: replays`. */
  readonly name: string;
  /** Never rejects: whatever goes wrong is a result. */
  run(service: TestedService): Promise<Result>;
}

/** In milliseconds. A check of a busy machine takes a tenth of it. */
const CHECK_TIMEOUT = 600_000;

/** @param work throws {@link Violation} or {@link NotApplicable} */
export function check(name: string, work: (service: TestedService) => Promise<void>): Check {
  return {
    name,
    run: async (service) => {
      try {
        await inTime(service, work);
        return { name, outcome: 'pass' };
      } catch (error) {
        if (error instanceof NotApplicable) {
          return { name, outcome: 'not applicable', reason: error.message };
        }
        const exchanges = error instanceof Violation ? error.exchanges : [];
        return { name, outcome: 'fail', reason: messageOf(error), exchanges };
      }
    },
  };
}

/** @throws Violation if the work takes too long: then it sends no further request */
async function inTime(
  service: TestedService,
  work: (service: TestedService) => Promise<void>,
): Promise<void> {
  const { checkTimeout = CHECK_TIMEOUT } = service.options;
  const over = new AbortController();
  const tested = service.until(over.signal);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const pending = [...tested.pending];
      const waits = pending.length === 0 ? '' : `; it waits for ${pending.join(', ')}`;
      const violation = new Violation(`the check has not ended after ${checkTimeout} ms${waits}`);
      reject(violation);
      over.abort(violation);
    }, checkTimeout);
  });
  try {
    await Promise.race([work(tested), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs the work for each item, a few at a time, and waits for all of them also if one fails. */
export async function forEach<Item>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
  atOnce = 8,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  const workers = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  const failed = workers.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
