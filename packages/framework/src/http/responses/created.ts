import type { Response } from 'express';
import { Representation } from './representation.js';

/** What a handler of `POST /tools` returns for a new tool, with `Location`. */
export class Created<
  Content extends { readonly id: bigint | string },
> extends Representation<Content> {
  /** @param path of the new tool. Default: the path of the request and the id */
  constructor(
    content: Content,
    private readonly path?: string,
  ) {
    super(content);
  }

  protected override fields({ req }: Response): readonly string[] {
    return ['Location', this.path ?? `${req.path}/${this.content.id}`];
  }
}
