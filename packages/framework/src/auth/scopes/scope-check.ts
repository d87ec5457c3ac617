import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { IS_PUBLIC } from '../public.decorator.js';
import { PRINCIPAL_NEEDED_BY } from '../require-principal.js';
import { REQUIRED_SCOPE } from './require-scope.decorator.js';

/** Where Nest keeps the path of a route, set by `@Get()` and the like. */
const PATH = 'path';

/**
 * Ends the start if a route is neither public nor declares a scope: nobody has decided who may call it. Also if it is
 * public and needs a token.
 */
@Injectable()
export class ScopeCheck implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** @throws TypeError with a line for each mistake */
  onModuleInit(): void {
    const mistakes = this.discovery.getControllers().flatMap(({ metatype }) => {
      const { prototype } = metatype as { readonly prototype: Record<string, () => unknown> };
      return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
        const handler = prototype[name]!;
        const found = Reflect.hasMetadata(PATH, handler) ? this.mistakesOf(handler) : [];
        return found.map((mistake) => `${metatype?.name}.${name} ${mistake}`);
      });
    });
    if (mistakes.length > 0) throw new TypeError(mistakes.join('\n'));
  }

  private mistakesOf(handler: () => unknown): readonly string[] {
    const { reflector } = this;
    const scope = reflector.get(REQUIRED_SCOPE, handler);
    if (!reflector.get(IS_PUBLIC, handler)) {
      return scope === undefined ? ['needs @RequireScope() or @Public()'] : [];
    }
    const needless = [
      ...(scope === undefined ? [] : ['@RequireScope()']),
      ...(reflector.get(PRINCIPAL_NEEDED_BY, handler) ?? []),
    ];
    return needless.map((name) => `is @Public(), so it cannot have ${name}: it looks at no token`);
  }
}
