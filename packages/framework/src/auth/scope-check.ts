import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { IS_PUBLIC } from './public.decorator.js';
import { REQUIRED_SCOPE } from './require-scope.decorator.js';

/** Where Nest keeps the path of a route, set by `@Get()` and the like. */
const PATH = 'path';

/** Does not let the service start if a route is neither public nor declares a scope: nobody has decided who may call it. */
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
        if (Reflect.hasMetadata(PATH, handler) && !this.isDecided(handler)) {
          throw new TypeError(`${metatype?.name}.${name} needs @RequireScope() or @Public()`);
        }
      }
    }
  }

  private isDecided(handler: () => unknown): boolean {
    const { reflector } = this;
    return (
      reflector.get(IS_PUBLIC, handler) || reflector.get(REQUIRED_SCOPE, handler) !== undefined
    );
  }
}
