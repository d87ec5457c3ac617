import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The properties in which services differ. Each service gives them once. */
export interface Identity {
  /** In kebab case, such as `tool-library`: for sessions of the database, traces, challenges and messages at the terminal. */
  readonly name: string;
  /** For people, such as `Tool Library`. */
  readonly title: string;
  /** One sentence, at the beginning of the OpenAPI document. */
  readonly description: string;
  /** The prefix of issued tokens, such as `tlb`. */
  readonly tokenPrefix: string;
  /** `buildOf(import.meta.url)` in the service's own code. */
  readonly build: Build;
  /** For the OpenAPI document, if it differs from the `package.json` of the service. */
  readonly document?: {
    readonly version: string;
    /** An expression of SPDX, such as `MIT`. */
    readonly license?: string;
  };
  /** A create that succeeds in an empty service. The start shows it at the terminal. */
  readonly firstRequest: {
    /** Such as `Create a tool`. */
    readonly summary: string;
    readonly path: `/${string}`;
    /** In JSON. */
    readonly body: string;
  };
  /** The TypeScript client. The code samples of the docs page have it if the service serves it, and otherwise `fetch`. */
  readonly client?: Client;
}

/** A package that exports `Resource`, the client of any resource. */
export interface Client {
  /** Such as `@tool-library/client`. */
  readonly package: string;
  /** The resource with a class of its own, which also reads the changes. */
  readonly resource?: {
    /** In the plural, as in the paths, such as `tools`. A method of the class with this name lists them. */
    readonly name: string;
    /** Such as `ToolLibrary`. */
    readonly className: string;
  };
}

/** The prefix of metrics and of objects in databases. */
export function snakeCase({ name }: Pick<Identity, 'name'>): string {
  return name.replaceAll('-', '_');
}

/** A build of a service. */
export interface Build {
  readonly version: string;
  /** The commit, or `unknown`. */
  readonly revision: string;
  /** An expression of SPDX, such as `MIT`, if its package has one. */
  readonly license?: string | undefined;
  /** The address of the project's documents, if its package has one. */
  readonly homepage: string | undefined;
  /** The path of the packed client that was built with it, if there is one. */
  readonly clientTarball: string;
}

interface PackageFile {
  readonly version: string;
  /** The commit, in npm's name for it. The build of an image sets it. */
  readonly gitHead?: string;
  readonly homepage?: string;
  readonly license?: string;
}

/** Allowed by npm instead of an expression of SPDX. */
const NO_SPDX = /^(UNLICENSED$|SEE LICENSE IN )/;

/**
 * Version and commit of a service, from the nearest `package.json` above one of its modules, and where `writeClient` writes the
 * client: into `dist-client` beside it.
 *
 * @param url `import.meta.url` of the module
 *
 * @example const build = buildOf(import.meta.url);
 */
export function buildOf(url: string): Build {
  let file = new URL('package.json', url);
  while (!existsSync(file)) {
    const above = new URL('../package.json', file);
    if (above.href === file.href) throw new Error(`no package.json above ${fileURLToPath(url)}`);
    file = above;
  }
  // Windows PowerShell writes a byte order mark, which npm ignores, too.
  const { version, gitHead, homepage, license } = JSON.parse(
    readFileSync(file, 'utf8').replace(/^\uFEFF/, ''),
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
