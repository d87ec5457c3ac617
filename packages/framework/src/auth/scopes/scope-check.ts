import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { Logger } from 'pino';
import { CONFIG } from '../../config/config.module.js';
import type { Config } from '../../config/config.js';
import { requireNone } from '../../errors/startup.error.js';
import { LOGGER } from '../../observability/logger.js';
import { IS_PUBLIC } from '../public.decorator.js';
import { PRINCIPAL_NEEDED_BY } from '../require-principal.js';
import { REQUIRED_SCOPES } from './require-scope.decorator.js';

/** Where Nest keeps the path of a route, set by `@Get()` and the like. */
const PATH = 'path';

/**
 * Ends the start if a route is neither public nor declares a scope: nobody has decided who may call it. Also if it is
 * public and needs a token.
 *
 * Warns of default scopes that no route requires, such as misspelt ones. They do not end the start, because several
 * services, or two releases of one, can share the setting.
 */
@Injectable()
export class ScopeCheck implements OnModuleInit {
  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'auth'>,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  get mistakes(): readonly string[] {
    return this.examine().mistakes;
  }

  /** @throws StartupError for mistakes */
  onModuleInit(): void {
    const { mistakes, required } = this.examine();
    requireNone(mistakes);
    const { defaultScopes = [] } = this.config.auth.jwt ?? {};
    const unknown = defaultScopes.filter((scope) => !required.has(scope));
    if (unknown.length === 0) return;
    this.logger.warn(
      `AUTH_JWT_DEFAULT_SCOPES has scopes that no route requires: ${unknown.join(' ')}`,
    );
  }

  private examine() {
    const mistakes: string[] = [];
    const required = new Set<string>();
    for (const { metatype } of this.discovery.getControllers()) {
      const { name: type, prototype } = metatype as Function;
      for (const name of this.scanner.getAllMethodNames(prototype as object)) {
        const handler = (prototype as Record<string, () => unknown>)[name]!;
        if (!Reflect.hasMetadata(PATH, handler)) continue;
        const scopes = this.reflector.get(REQUIRED_SCOPES, handler);
        for (const scope of scopes ?? []) required.add(scope);
        mistakes.push(...this.mistakesOf(handler, scopes).map((each) => `${type}.${name} ${each}`));
      }
    }
    return { mistakes, required };
  }

  private mistakesOf(
    handler: () => unknown,
    scopes: readonly string[] | undefined,
  ): readonly string[] {
    const { reflector } = this;
    if (!reflector.get(IS_PUBLIC, handler)) {
      return scopes === undefined ? ['needs @RequireScope() or @Public()'] : [];
    }
    const needless = [
      ...(scopes === undefined ? [] : ['@RequireScope()']),
      ...(reflector.get(PRINCIPAL_NEEDED_BY, handler) ?? []),
    ];
    return needless.map((name) => `is @Public(), so it cannot have ${name}: it looks at no token`);
  }
}
