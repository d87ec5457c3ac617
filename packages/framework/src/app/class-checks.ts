import type { INestApplicationContext, Type } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { DataSource } from 'typeorm';

const CHECKS = Symbol('checks of a class');

/** The class of a provider, controller or entity. */
export interface ClassToCheck {
  readonly type: Type;
  /** Whether there is one instance of it, which lasts; not of an entity. */
  readonly isStatic: boolean;
  readonly find: <Provider>(token: Type<Provider>) => Provider | undefined;
}

/** Returns a line for each mistake. */
export type ClassCheck = (found: ClassToCheck) => readonly string[];

/**
 * For decorators of extensions: checks a class that is a provider, controller or entity of an application, before this starts or
 * writes its documents.
 */
export function checkAtStart(type: Function, check: ClassCheck): void {
  const others = checksOf(type).filter((each) => each !== check);
  Reflect.defineMetadata(CHECKS, [...others, check], type);
}

/** The entities must have metadata. */
export function classMistakes(app: INestApplicationContext): readonly string[] {
  const discovery = new DiscoveryService(app.get(ModulesContainer));
  const find: ClassToCheck['find'] = (token) => {
    try {
      return app.get(token, { strict: false });
    } catch {
      return undefined;
    }
  };
  const mistakesOf = (type: unknown, isStatic: () => boolean): readonly string[] => {
    if (typeof type !== 'function') return [];
    const checked = { type: type as Type, find };
    return checksOf(type).flatMap((check) => check({ ...checked, isStatic: isStatic() }));
  };
  const wrappers = [...discovery.getProviders(), ...discovery.getControllers()];
  return [
    ...wrappers.flatMap((wrapper) =>
      mistakesOf(wrapper.metatype, () => !wrapper.isTransient && wrapper.isDependencyTreeStatic()),
    ),
    ...app.get(DataSource).entityMetadatas.flatMap(({ target }) => mistakesOf(target, () => false)),
  ];
}

function checksOf(type: Function): readonly ClassCheck[] {
  return (Reflect.getMetadata(CHECKS, type) ?? []) as readonly ClassCheck[];
}
