import { plainToInstance, TransformationType } from 'class-transformer';
import type { ClassConstructor, TransformFnParams } from 'class-transformer';
// Not exported by the package; @nestjs/mapped-types reads the same file.
import { defaultMetadataStorage as declared } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, ValidationTypes } from 'class-validator';

/* What class-transformer and class-validator search their metadata for with each object, found once for each class. */

// For an object without a class, class-transformer takes quadratic time, and uses a field `constructor` as its class.
export const TRANSFORM_OPTIONS = { strategy: 'excludeAll', exposeDefaultValues: true } as const;

/** The type of a property without a class. With the declared type, class-transformer would call `new BigInt()` for an array. */
export const ANY_VALUE = () => Object;

type Values = Record<string, unknown>;

interface Property {
  readonly name: string;
  /** In JSON. */
  readonly field: string;
  readonly transforms: readonly ((params: TransformFnParams) => unknown)[];
}

const propertiesOf = new Map<Function, readonly Property[] | undefined>();

/** Does what `plainToInstance()` does. */
export function toInstance(dtoClass: ClassConstructor<object>, value: object): object {
  if (!propertiesOf.has(dtoClass)) propertiesOf.set(dtoClass, flatProperties(dtoClass));
  const properties = propertiesOf.get(dtoClass);
  if (properties === undefined) return plainToInstance(dtoClass, value, TRANSFORM_OPTIONS);
  const dto = new dtoClass() as Values;
  for (const { name, field, transforms } of properties) {
    const initial = dto[name];
    if (typeof initial === 'function') continue;
    const given = (value as Values)[field];
    dto[name] = given === undefined ? initial : transformed(value, name, given, transforms);
  }
  return dto;
}

function transformed(
  obj: object,
  key: string,
  given: unknown,
  transforms: Property['transforms'],
): unknown {
  let value =
    typeof given === 'object' && given !== null
      ? plainToInstance<object, object>(Object, given, TRANSFORM_OPTIONS)
      : given;
  for (const transform of transforms) {
    const type = TransformationType.PLAIN_TO_CLASS;
    value = transform({ value, key, obj, type, options: TRANSFORM_OPTIONS });
  }
  return value;
}

/** `undefined` for a class with nested classes, or with other features that few classes use. */
function flatProperties(dtoClass: Function): readonly Property[] | undefined {
  const direction = TransformationType.PLAIN_TO_CLASS;
  const names = [...new Set(declared.getExposedProperties(dtoClass, direction))];
  const properties = names.map((name) => {
    const { options } = declared.findExposeMetadata(dtoClass, name);
    const transforms = declared.findTransformMetadatas(dtoClass, name, direction);
    const accessor = Object.getOwnPropertyDescriptor(dtoClass.prototype, name);
    return {
      name,
      field: options.name ?? name,
      transforms: transforms.map(({ transformFn }) => transformFn),
      isFlat:
        declared.findTypeMetadata(dtoClass, name)?.typeFunction === ANY_VALUE &&
        (accessor === undefined || accessor.set !== undefined) &&
        [options, ...transforms.map((transform) => transform.options)].every(
          ({ groups = [] }) => groups.length === 0,
        ),
    };
  });
  const fields = new Set(properties.map(({ field }) => field));
  const isFlat =
    declared.getStrategy(dtoClass) === 'none' &&
    declared.getExcludedMetadatas(dtoClass).length === 0 &&
    fields.size === properties.length &&
    !['__proto__', 'constructor'].some((field) => fields.has(field)) &&
    properties.every((property) => property.isFlat);
  return isFlat ? properties : undefined;
}

export function validationsOf(type: Function) {
  return getMetadataStorage().getTargetValidationMetadatas(type, '', true, false);
}

type Validation = ReturnType<typeof validationsOf>[number];
type Check = (dto: object, value: unknown) => boolean;

interface Checks {
  readonly property: string;
  /** All must hold for the property to be validated. */
  readonly conditions: Check[];
  readonly checks: Check[];
}

const checksOf = new Map<Function, readonly Checks[]>();

/** Whether `validateSync()` finds no mistake. It may find none even so: only it decides that a value is wrong. */
export function isValid(dto: object): boolean {
  const type: unknown = dto.constructor;
  // In an object without a class, it can be any JSON.
  if (typeof type !== 'function') return false;
  let all = checksOf.get(type);
  if (all === undefined) checksOf.set(type, (all = checksFor(type)));
  for (const { property, conditions, checks } of all) {
    const value = (dto as Values)[property];
    if (!haveHeld(conditions, dto, value)) continue;
    if (!haveHeld(checks, dto, value)) return false;
  }
  return all.length > 0;
}

function haveHeld(checks: readonly Check[], dto: object, value: unknown): boolean {
  for (const holds of checks) if (!holds(dto, value)) return false;
  return true;
}

function checksFor(type: Function): readonly Checks[] {
  const found = new Map<string, Checks>();
  for (const validation of validationsOf(type)) {
    const { propertyName: property } = validation;
    const of = found.get(property) ?? { property, conditions: [], checks: [] };
    found.set(property, of);
    if (validation.type !== ValidationTypes.CONDITIONAL_VALIDATION)
      of.checks.push(checkFor(validation));
    else of.conditions.push(validation.constraints[0] as Check);
  }
  return [...found.values()];
}

function checkFor({
  type,
  propertyName,
  constraintCls,
  constraints,
  each,
  validateIf,
}: Validation): Check {
  if (type === ValidationTypes.NESTED_VALIDATION) return (_, value) => isNestedValid(value);
  const validators = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  return (object, value) => {
    if (validateIf?.(object, value) === false) return true;
    const targetName = object.constructor.name;
    const args = { targetName, property: propertyName, object, value, constraints };
    const values = each && isCollection(value) ? [...value.values()] : [value];
    for (const { async, instance } of validators) {
      for (const one of values) if (!async && !instance.validate(one, args)) return false;
    }
    return true;
  };
}

function isNestedValid(value: unknown): boolean {
  if (value === undefined) return true;
  if (isCollection(value)) return [...value.values()].every(isNestedValid);
  return value instanceof Object && isValid(value);
}

function isCollection(value: unknown): value is readonly unknown[] | ReadonlySet<unknown> {
  return Array.isArray(value) || value instanceof Set || value instanceof Map;
}
