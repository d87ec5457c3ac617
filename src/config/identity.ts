/** What tells a service from others. Each service gives it once. */
export interface Identity {
  /** In kebab case, such as `tool-library`: for sessions of the database, traces, challenges and messages at the terminal. */
  readonly name: string;
  /** For people, such as `Tool Library`. */
  readonly title: string;
  /** One sentence, at the beginning of the OpenAPI document. */
  readonly description: string;
  /** What issued tokens begin with, such as `tlb`. */
  readonly tokenPrefix: string;
  /** A create that succeeds in an empty service, which the start shows at the terminal. */
  readonly firstRequest: {
    /** Such as `Create a tool`. */
    readonly summary: string;
    readonly path: `/${string}`;
    /** In JSON. */
    readonly body: string;
  };
}

/** The name in snake case: what the names of metrics begin with, and the names of what the service has in databases. */
export function snakeCase({ name }: Pick<Identity, 'name'>): string {
  return name.replaceAll('-', '_');
}
