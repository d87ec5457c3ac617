import { feedsOf, idempotentCreatesOf, otherOperationsOf, resourcesOf } from './document.js';
import type { DocumentedOperation, Feed, OpenApiDocument, Resource } from './document.js';

export interface ClientIdentity {
  /** Of the service, in kebab case, such as `tool-library`. */
  readonly name: string;
  /** For people, such as `Tool Library`. */
  readonly title: string;
  readonly build: { readonly version: string };
  readonly client?: {
    /** Such as `@tool-library/client`, which is the default. */
    readonly package: string;
    /** The resource whose operations are methods of the class itself. */
    readonly resource?: { readonly name: string; readonly className: string };
  };
}

export interface Plan {
  readonly identity: ClientIdentity;
  readonly packageName: string;
  readonly className: string;
  /** The resource whose operations are methods of the class itself. */
  readonly main: Resource | undefined;
  readonly mainFeed: Feed | undefined;
  /** What the class consists of. Those for its own methods are private. */
  readonly properties: readonly Property[];
  /** The operations that neither resources nor feeds have. */
  readonly others: readonly DocumentedOperation[];
  /** Of the resources and feeds, by name. */
  readonly schemas: readonly string[];
  readonly idempotentCreates: readonly string[];
}

export interface Property {
  readonly property: string;
  readonly type: 'Resource' | 'Feed';
  readonly name: string;
  /** If it does not have all methods of a resource. */
  readonly methods: readonly string[] | undefined;
}

export function planOf(identity: ClientIdentity, document: OpenApiDocument): Plan {
  const { package: packageName = `@${identity.name}/client`, resource } = identity.client ?? {};
  const resources = resourcesOf(document);
  const feeds = feedsOf(document);
  const main = resources.find(({ name }) => name === resource?.name);
  if (resource !== undefined && main === undefined) {
    throw new Error(`the OpenAPI document has no resource ${resource.name}`);
  }
  if (main !== undefined && limitedMethodsOf(main) !== undefined) {
    throw new Error(
      `${main.name} lacks operations, so it cannot be client.resource: its methods are ${limitedMethodsOf(main)?.join(', ')}`,
    );
  }
  const mainFeed = main && feeds[0];
  const propertyOf = (type: 'Resource' | 'Feed') => (each: Resource | Feed) => ({
    property: `${each === main || each === mainFeed ? '#' : ''}${camelCase(each.name)}`,
    type,
    name: each.name,
    methods: 'operations' in each ? limitedMethodsOf(each) : undefined,
  });
  const others = otherOperationsOf(document);
  const nameless = others.filter(({ operation }) => operation.operationId === undefined);
  if (nameless.length > 0) {
    const names = nameless.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    throw new Error(`the OpenAPI document has no operationId for ${names.join(', ')}`);
  }
  if (others.length > 0 && [...resources, ...feeds].some(({ name }) => name === 'operations')) {
    throw new Error('the client has `operations` already, so no path can have this name');
  }
  const schemas = [
    ...resources.flatMap((each) =>
      Object.values(each.schemas).filter((name) => name !== undefined),
    ),
    ...feeds.map(({ schema }) => schema),
  ];
  return {
    identity,
    packageName,
    className: resource?.className ?? capital(camelCase(identity.name)),
    main,
    mainFeed,
    properties: [...resources.map(propertyOf('Resource')), ...feeds.map(propertyOf('Feed'))],
    others,
    schemas: [...new Set(schemas)],
    idempotentCreates: idempotentCreatesOf(document),
  };
}

function limitedMethodsOf({ operations }: Resource): readonly string[] | undefined {
  const all = Object.entries(operations);
  const found = all.filter(([, operation]) => operation !== undefined).map(([name]) => name);
  if (found.length === all.length) return undefined;
  return found.flatMap((name) => (name === 'list' ? ['list', 'all'] : name));
}

/** Such as `toolBoxes` for `tool-boxes`. */
export function camelCase(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9]+([a-zA-Z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  );
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function uncapital(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** With its article, such as `a tool box` for `ToolBox`. */
export function oneOf(noun: string): string {
  const words = noun.replaceAll(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`;
}
