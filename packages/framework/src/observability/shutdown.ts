import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Tells answers without an end that the service shuts down. */
@Injectable()
export class Shutdown {
  private readonly controller = new AbortController();

  constructor() {
    // Each answer without an end listens.
    setMaxListeners(0, this.controller.signal);
  }

  /** Aborts when the service stops to take requests. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  begin(): void {
    this.controller.abort();
  }
}
