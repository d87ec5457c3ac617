import type { Response } from 'express';
import { Representation } from './representation.js';

/** What a handler of `POST /tools` returns for a new tool. `Location` has its path: the path of the request, and the id. */
export class Created<
  Content extends { readonly id: bigint | string },
> extends Representation<Content> {
  override send(response: Response, status: number): void {
    response.setHeader('Location', `${response.req.path}/${this.content.id}`);
    super.send(response, status);
  }
}
