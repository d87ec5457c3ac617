import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { REQUIRED_SCOPE } from './require-scope.decorator.js';

/** Where Nest keeps the path of a route, set by `@Get()` and the like. */
const PATH = 'path';

/** Does not let the service start if a route declares no scope: nobody has decided who may call it. */
@Injectable()
export class ScopeCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** @throws TypeError */
  onModuleInit(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      const { prototype } = metatype as { readonly prototype: Record<string, () => unknown> };
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[name]!;
        const isRoute = Reflect.hasMetadata(PATH, handler);
        if (isRoute && this.reflector.get(REQUIRED_SCOPE, handler) === undefined) {
          throw new TypeError(`${metatype?.name}.${name} needs @RequireScope()`);
        }
      }
    }
  }
}
