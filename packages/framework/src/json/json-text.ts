/** JSON that is written as it is. */
export class JsonText {
  constructor(readonly text: string) {}
}
