import { ERRORS, ServiceException } from '@resource-service/framework';
import { ChangePages } from './change-pages.js';
import type { ChangePagesOptions, ChangeQuery } from './change-pages.js';
import { FeedStates } from './feed-state.js';
import type { FeedState, FeedStatesOptions } from './feed-state.js';
import { incarnationOf, MAX_POSITION, otherServer } from './position.js';

export interface ChangeReaderOptions extends ChangePagesOptions, FeedStatesOptions {
  readonly isRecorded: () => boolean;
}

/** Where a reader starts. */
export interface Start extends FeedState, Pick<ChangeQuery, 'after' | 'isFirst' | 'acceptGap'> {}

/** Reads the changes of a resource in an order in which no reader misses one (docs/decisions/order-of-changes.md). */
export class ChangeReader {
  readonly states: FeedStates;
  readonly pages: ChangePages;
  /** The last position before an incarnation. */
  private former: { readonly incarnationStart: bigint; readonly end: bigint } | undefined;

  constructor(private readonly options: ChangeReaderOptions) {
    this.states = new FeedStates(options);
    this.pages = new ChangePages(options, this.states);
  }

  /**
   * Where a reader starts, and how far it can read.
   *
   * @param after `undefined`: at the oldest record that is left
   * @param acceptGap changes without a record up to this position may be missing
   * @throws ServiceException `no-such-path` if changes are not recorded, `changes-pruned`, `position-unknown`,
   *   `too-many-lists`
   */
  async startOf(after: bigint | undefined, acceptGap = 0n): Promise<Start> {
    if (!this.options.isRecorded()) {
      throw new ServiceException(ERRORS.noSuchPath, 'changes are not recorded');
    }
    const state = await this.states.readShared();
    const { newest, prunedTo, lowWatermark, incarnationStart } = state;
    const isAccepted = acceptGap >= prunedTo;
    if (after === undefined) {
      return { ...state, after: isAccepted ? 0n : prunedTo, isFirst: true, acceptGap };
    }
    // A read-only server that has just taken over may lack positions that the former one has given.
    if (after > newest) await this.states.requireKnownServer();
    const isOther = incarnationOf(after) !== incarnationOf(newest);
    if (after > newest && after <= MAX_POSITION && isOther) throw otherServer(after);
    if (after < 0n || after > newest) {
      throw new ServiceException(
        ERRORS.positionUnknown,
        `there is no position ${after}: the newest is ${newest}`,
      );
    }
    if (after < prunedTo) {
      const check = () => this.states.requireKept({ after, acceptGap }, prunedTo);
      await (isAccepted ? this.options.slots.run(check) : check());
    }
    // The low watermark is a position of this server, so a reader that has read everything needs no check.
    if (after < incarnationStart && after !== lowWatermark) await this.requireOwn(after);
    return { ...state, after, isFirst: false, acceptGap };
  }

  /**
   * How many positions were given between two, at most. Those that a new incarnation passes over do not count.
   *
   * @param incarnationStart where the incarnation of the later one begins
   */
  async distance(after: bigint, until: bigint, incarnationStart: bigint): Promise<bigint> {
    if (after >= incarnationStart) return until - after;
    if (this.former?.incarnationStart !== incarnationStart) {
      const end = await this.states.nearestTo(incarnationStart);
      this.former = { incarnationStart, end };
    }
    const missedBefore = this.former.end > after ? this.former.end - after : 0n;
    return missedBefore + until - incarnationStart;
  }

  /**
   * Rejects a position of an incarnation that this server does not have: it may have changes with lower positions that the
   * server of the incarnation lacked, so the reader has never got them. Without any lower one, the reader gets all.
   *
   * @param after a position before the incarnation of this server
   * @throws ServiceException `changes-pruned`
   */
  private async requireOwn(after: bigint): Promise<void> {
    const nearest = await this.states.nearestTo(after);
    if (nearest !== 0n && incarnationOf(nearest) !== incarnationOf(after)) throw otherServer(after);
  }
}
