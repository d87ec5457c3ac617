/** In the order in which the page offers them. */
export const LANGUAGES: readonly ['curl', 'TypeScript', 'Python', 'Go'];

/**
 * The request in code, by language. No digit of an id is lost.
 *
 * @param client in TypeScript, if there is one
 */
export function codeSamples(
  request: SampleRequest,
  client?: Client,
): Readonly<Record<(typeof LANGUAGES)[number], string>>;

/** A request, as its code samples need it. */
export interface SampleRequest {
  readonly method: string;
  /** With the values of its parameters. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: SampleBody | SampleFile;
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

/** A file instead of a text. */
export interface SampleFile {
  readonly type: string;
  /** Its name. */
  readonly file: string;
}

export interface SampleResource {
  /** In the plural, as in the paths. */
  readonly name: string;
  readonly id?: string;
  /** The properties that are 64-bit integers. */
  readonly int64: readonly string[];
}

/** A package that exports `Resource`, the client of any resource. */
export interface Client {
  /** Such as `@tool-library/client`. */
  readonly package: string;
  /** Where its tarball is, below the address of the API, if the API serves it. Otherwise it comes from the registry. */
  readonly tarball?: string;
  /** The resource that has a class of its own, which reads the changes, too. */
  readonly resource?: {
    /** In the plural, as in the paths, such as `tools`. The class has a method of this name that lists them. */
    readonly name: string;
    /** Such as `ToolLibrary`. */
    readonly className: string;
  };
}
