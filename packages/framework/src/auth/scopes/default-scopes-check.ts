import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { Logger } from 'pino';
import { CONFIG } from '../../config/config.module.js';
import type { Config } from '../../config/config.js';
import { LOGGER } from '../../observability/logger.js';
import { REQUIRED_SCOPE } from './require-scope.decorator.js';

/**
 * Warns of default scopes that no route requires, such as misspelt ones. They do not end the start, because several
 * services, or two releases of one, can share the setting.
 */
@Injectable()
export class DefaultScopesCheck implements OnModuleInit {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    const { defaultScopes = [] } = this.config.auth.jwt ?? {};
    if (defaultScopes.length === 0) return;
    const required = this.required();
    const unknown = defaultScopes.filter((scope) => !required.has(scope));
    if (unknown.length === 0) return;
    this.logger.warn(
      `AUTH_JWT_DEFAULT_SCOPES has scopes that no route requires: ${unknown.join(' ')}`,
    );
  }

  private required(): ReadonlySet<string> {
    const scopes = this.discovery.getControllers().flatMap(({ metatype }) => {
      const { prototype } = metatype as { readonly prototype: Record<string, () => unknown> };
      const handlers = this.scanner.getAllMethodNames(prototype).map((name) => prototype[name]!);
      return handlers.map((handler) => this.reflector.get(REQUIRED_SCOPE, handler));
    });
    return new Set(scopes.filter((scope) => scope !== undefined));
  }
}
