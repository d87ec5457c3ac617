import type { Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';

/** What a service sends to others by itself, for its OpenAPI document. */
export interface DocumentedWebhooks {
  readonly webhooks: NonNullable<OpenAPIObject['webhooks']>;
  /** The classes that its schemas refer to. */
  readonly models: readonly Type[];
}

export const DOCUMENTED_WEBHOOKS = Symbol('DOCUMENTED_WEBHOOKS');

export function webhooksOf(app: INestApplication): DocumentedWebhooks | undefined {
  for (const { providers } of app.get(ModulesContainer).values()) {
    const found = providers.get(DOCUMENTED_WEBHOOKS);
    if (found !== undefined) return found.instance as DocumentedWebhooks;
  }
  return undefined;
}
