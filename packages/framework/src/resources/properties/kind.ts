import type { Type } from '@nestjs/common';

interface ParameterSchema {
  readonly type: 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: string[];
}

/** How a text, such as a query parameter, becomes a value of a property. */
export interface Kind<Value = unknown> {
  readonly schema: ParameterSchema;
  /** `undefined` for a text that is no value of the property. */
  parse(text: string): Value | undefined;
  /** The message for such a text. */
  constraintOf(name: string): string;
}

/** What decorators declare of a property beyond its column, validations and schema. */
interface Declaration {
  /** Lists can be filtered by it. Not for values that no parameter can be compared with, such as JSON. */
  readonly kind?: Kind;
  /** What a create or a PUT stores without the property. */
  readonly default?: unknown;
  /** Whether clients cannot send it. */
  readonly isManaged?: boolean;
}

const DECLARATION = Symbol('declaration');

export function Declares(part: Declaration): PropertyDecorator {
  return (target, name) => {
    const others = declarationOf(target.constructor as Type, String(name));
    Reflect.defineMetadata(DECLARATION, { ...others, ...part }, target, name);
  };
}

/**
 * Declares that only the service sets a property: `NewOf`, `ReplacementOf` and `PatchOf` lack it, a PUT keeps it, and the service passes
 * it to `create` and `patch`. Its type is {@link Managed}.
 *
 * @example
 * @ServiceManaged()
 * @EnumField(STATUSES, { description: 'What has become of it.' })
 * readonly status!: Managed<Status>;
 */
export function ServiceManaged(): PropertyDecorator {
  return Declares({ isManaged: true });
}

/** @param entity the class whose properties have the decorators, not a DTO that is made from it */
export function declarationOf(entity: Type, property: string): Declaration {
  const found: unknown = Reflect.getMetadata(DECLARATION, entity.prototype as object, property);
  return (found as Declaration | undefined) ?? {};
}
