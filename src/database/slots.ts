import { PlantStoreError } from '../errors/plant-store.error.js';

/** Limits how many long tasks run at once, so that short tasks find free connections. */
export class Slots {
  private taken = 0;

  /** @param message of the refusal */
  constructor(
    private readonly count: number,
    private readonly message: string,
  ) {}

  /**
   * Takes a slot.
   *
   * @returns gives the slot back
   * @throws PlantStoreError `overloaded`
   */
  take(): () => void {
    if (this.taken >= this.count) throw new PlantStoreError('overloaded', this.message);
    this.taken += 1;
    return () => {
      this.taken -= 1;
    };
  }
}
