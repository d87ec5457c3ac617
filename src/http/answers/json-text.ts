/** What a handler returns to send text that is JSON already. Writing a page as text takes half the time of its objects. */
export class JsonText {
  /** @param fields names and values of header fields, in turn */
  constructor(
    readonly text: string,
    readonly fields: readonly string[] = [],
  ) {}
}
