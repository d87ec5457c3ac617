import { Injectable } from '@nestjs/common';

/** Tells answers without an end that the service shuts down. */
@Injectable()
export class Shutdown {
  private readonly controller = new AbortController();

  /** Aborts when the service stops to take requests. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  begin(): void {
    this.controller.abort();
  }
}
