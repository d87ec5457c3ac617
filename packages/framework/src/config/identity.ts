import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
  /** `buildOf(import.meta.url)` in the service's own code. */
  readonly build: Build;
  /** What the OpenAPI document says of the interface, if it is not what the `package.json` of the service says. */
  readonly document?: {
    readonly version: string;
    /** An expression of SPDX, such as `MIT`. */
    readonly license?: string;
  };
  /** A create that succeeds in an empty service, which the start shows at the terminal. */
  readonly firstRequest: {
    /** Such as `Create a tool`. */
    readonly summary: string;
    readonly path: `/${string}`;
    /** In JSON. */
    readonly body: string;
  };
  /** How the client in TypeScript is called. The docs page has it in its code samples if it serves it, and otherwise `fetch`. */
  readonly client?: Client;
}

/** A package that exports `Resource`, the client of any resource. */
export interface Client {
  /** Such as `@tool-library/client`. */
  readonly package: string;
  /** The resource that has a class of its own, which reads the changes, too. */
  readonly resource?: {
    /** In the plural, as in the paths, such as `tools`. The class has a method of this name that lists them. */
    readonly name: string;
    /** Such as `ToolLibrary`. */
    readonly className: string;
  };
}

/** The name in snake case: what the names of metrics begin with, and the names of what the service has in databases. */
export function snakeCase({ name }: Pick<Identity, 'name'>): string {
  return name.replaceAll('-', '_');
}

/** Which build of a service runs. */
export interface Build {
  readonly version: string;
  /** The commit, or `unknown`. */
  readonly revision: string;
  /** An expression of SPDX, such as `MIT`, if its package has one. */
  readonly license?: string | undefined;
  /** The address of the project's documents, if its package has one. */
  readonly homepage: string | undefined;
  /** Where the packed client is that was built with it, if there is one. */
  readonly clientTarball: string;
}

interface PackageFile {
  readonly version: string;
  /** The commit, in npm's name for it. The build of an image sets it. */
  readonly gitHead?: string;
  readonly homepage?: string;
  readonly license?: string;
}

/** What npm allows instead of an expression of SPDX. */
const NO_SPDX = /^(UNLICENSED$|SEE LICENSE IN )/;

/**
 * Version and commit of a service, from the nearest `package.json` above one of its modules, and where `writeClient` writes the
 * client: into `dist-client` beside it.
 *
 * @param url `import.meta.url` of the module
 */
export function buildOf(url: string): Build {
  let file = new URL('package.json', url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error(`no package.json above ${fileURLToPath(url)}`);
    file = above;
  }
  const { version, gitHead, homepage, license } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as PackageFile;
  const clientTarball = fileURLToPath(new URL('dist-client/client.tgz', file));
  return {
    version,
    revision: gitHead ?? 'unknown',
    license: license === undefined || NO_SPDX.test(license) ? undefined : license,
    homepage,
    clientTarball,
  };
}
