import type { INestApplicationContext, Type } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';

const CHECKS = Symbol('checks of a class');

/** The class of a provider or controller. */
export interface ClassToCheck {
  readonly type: Type;
  /** Whether there is one instance of it, which lasts. */
  readonly isStatic: boolean;
  readonly find: <Provider>(token: Type<Provider>) => Provider | undefined;
}

/** Returns a line for each mistake. */
export type ClassCheck = (found: ClassToCheck) => readonly string[];

/**
 * For decorators of extensions: checks a class that is a provider or controller of an application, before this starts or writes its
 * documents.
 */
export function checkAtStart(type: Function, check: ClassCheck): void {
  const others = checksOf(type).filter((each) => each !== check);
  Reflect.defineMetadata(CHECKS, [...others, check], type);
}

export function classMistakes(app: INestApplicationContext): readonly string[] {
  const discovery = new DiscoveryService(app.get(ModulesContainer));
  const find: ClassToCheck['find'] = (token) => {
    try {
      return app.get(token, { strict: false });
    } catch {
      return undefined;
    }
  };
  return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) => {
    const { metatype: type, isTransient } = wrapper;
    if (typeof type !== 'function') return [];
    const isStatic = !isTransient && wrapper.isDependencyTreeStatic();
    return checksOf(type).flatMap((check) => check({ type: type as Type, isStatic, find }));
  });
}

function checksOf(type: Function): readonly ClassCheck[] {
  return (Reflect.getMetadata(CHECKS, type) ?? []) as readonly ClassCheck[];
}
