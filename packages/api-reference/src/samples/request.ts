/** A request, as its code samples need it. */
export interface SampleRequest {
  readonly method: string;
  /** With the values of its parameters. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: SampleBody;
  /** The resource with the operations that the project's client has, if the request is one of them. */
  readonly resource?: SampleResource;
}

export interface SampleBody {
  /** Its media type. */
  readonly type: string;
  readonly text: string;
  /** What it consists of, if it is JSON: one value, or one of each line. Integers are bigints. */
  readonly values?: readonly unknown[];
}

export interface SampleResource {
  /** In the plural, as in the paths. */
  readonly name: string;
  readonly id?: string;
  /** The members that are 64-bit integers. */
  readonly int64: readonly string[];
}

/** The address of the service and the token in code samples; the page puts in the real values. */
export const PLACEHOLDERS = { base: 'http://localhost:3000', token: 'YOUR_TOKEN' } as const;

/** The header fields of a request, the media type of its body included. */
export function headersOf({ headers, body }: SampleRequest): [name: string, value: string][] {
  return Object.entries({
    Authorization: `Bearer ${PLACEHOLDERS.token}`,
    ...(body !== undefined && { 'Content-Type': body.type }),
    ...headers,
  });
}

/** Whether a body of this media type is one value of JSON. */
export function isJson(type: string): boolean {
  return /[/+]json$/.test(type);
}
