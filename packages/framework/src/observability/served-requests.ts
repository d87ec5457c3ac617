import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request } from 'express';

/**
 * The request that the running code serves. Costs nothing until something needs it: before version 24 of Node.js, the storage makes
 * each promise of the process slower from its first use on.
 */
export class ServedRequests {
  private readonly storage = new AsyncLocalStorage<Request | undefined>();
  private isNeeded = false;

  /** `undefined` outside of requests. */
  get current(): Request | undefined {
    return this.storage.getStore();
  }

  /** To be called before the first request. */
  need(): void {
    this.isNeeded = true;
  }

  serve(request: Request, handle: () => void): void {
    if (this.isNeeded) this.storage.run(request, handle);
    else handle();
  }

  /** Runs what serves several requests, in the context of one of them. */
  forNone(work: () => void): void {
    if (this.isNeeded) this.storage.run(undefined, work);
    else work();
  }
}
