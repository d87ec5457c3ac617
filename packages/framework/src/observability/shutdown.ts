import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';

/** Aborts when the service stops taking requests, which ends endless responses. */
@Injectable()
export class Shutdown extends AbortController {
  constructor() {
    super();
    // Each endless response listens.
    setMaxListeners(0, this.signal);
  }
}
