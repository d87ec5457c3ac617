import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Signals to endless responses that the service shuts down. */
@Injectable()
export class Shutdown {
  private readonly controller = new AbortController();

  constructor() {
    // Each endless response listens.
    setMaxListeners(0, this.controller.signal);
  }

  /** Aborts when the service stops taking requests. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  begin(): void {
    this.controller.abort();
  }
}
