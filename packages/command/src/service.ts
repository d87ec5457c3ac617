import type { Identity } from '@resource-service/framework/identity';

import { feedsOf, resourcesOf, scopesOf, webhooksOf } from './resources.js';
import type { Feed, OpenApiDocument, Resource, Webhooks } from './resources.js';

export interface ServiceSource {
  readonly identity: Identity;
  /** The document of the service, whose resources and feeds the command works on. */
  readonly document: OpenApiDocument;
}

export interface Service {
  readonly identity: Identity;
  /** The variables of the command, such as `TOOL_LIBRARY_URL`. */
  readonly variables: {
    readonly url: string;
    readonly token: string;
    readonly tokenFile: string;
  };
  readonly resources: readonly Resource[];
  /** What is exported, and imported if it can be, unless another one is chosen. `undefined` if there is none. */
  readonly defaultResource: Resource | undefined;
  readonly feeds: readonly Feed[];
  readonly scopes: readonly string[];
  readonly webhooks: Webhooks | undefined;
}

export function serviceOf({ identity, document }: ServiceSource): Service {
  const prefix = identity.name.replaceAll('-', '_').toUpperCase();
  const resources = resourcesOf(document);
  const main = identity.client?.resource?.name;
  return {
    identity,
    variables: {
      url: `${prefix}_URL`,
      token: `${prefix}_TOKEN`,
      tokenFile: `${prefix}_TOKEN_FILE`,
    },
    resources,
    defaultResource: resources.find(({ name }) => name === main) ?? resources[0],
    feeds: feedsOf(document),
    scopes: scopesOf(document),
    webhooks: webhooksOf(document),
  };
}

/** For sentences, such as `a tool library`. */
export function oneOf({ name }: Identity): string {
  const noun = name.replaceAll('-', ' ');
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
