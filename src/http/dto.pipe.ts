import { createRequire } from 'node:module';
import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { plainToInstance, TransformationType } from 'class-transformer';
import type { TransformFnParams } from 'class-transformer';
import { getMetadataStorage, validateSync } from 'class-validator';
import type { ValidationError } from 'class-validator';
import type { ErrorCode } from '../errors/error-table.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { UnreadBody } from './json-body.js';

type DtoClass = new () => object;

/**
 * Makes the DTO of `@Body()`, `@Query()` or `@Param()` by class-transformer, and checks it by
 * class-validator. Members without a rule are ignored. An object or array without a class, by `@Type()`, is
 * taken as it is; a `@Transform()` finds it in `obj[key]`. Single parameters, such as
 * `@Query('name')`, and custom decorators are left alone.
 *
 * Nest's own ValidationPipe would also convert path and query parameters, with the unary plus, before
 * any other pipe sees them: ids would lose digits.
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    const isPart = data !== undefined;
    if (type === 'custom' || (isPart && type !== 'body')) return value;
    if (isPart || !isDtoClass(metatype)) {
      // Nest's documentation takes all parameters of a path as `any`, and they are all strings.
      if (type === 'param') return value;
      // An `import type` of the DTO leaves `Object` as its run-time type: better no answer than no rules.
      throw new TypeError(
        `take the ${type} as a whole, with a class as its type that has rules and is imported as a value`,
      );
    }
    return type === 'body'
      ? bodyAs(metatype, value as UnreadBody)
      : make(metatype, value as object, 'parameter-not-valid');
  }
}

async function bodyAs(dtoClass: DtoClass, body: UnreadBody): Promise<object> {
  const value = await body.read();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PlantStoreError('body-not-valid', 'the body must be a JSON object');
  }
  return make(dtoClass, value, 'body-not-valid');
}

/* Nothing that is not exposed is looked at: class-transformer takes quadratic time for the members of an
   object without a class, and the value of one that is called `constructor` for its class. */
const TRANSFORM_OPTIONS = { strategy: 'excludeAll', exposeDefaultValues: true } as const;
const VALIDATE_OPTIONS = { forbidUnknownValues: true };

/** Mistakes that a message names. */
const MAX_TOLD = 10;

function make(dtoClass: DtoClass, value: object, code: ErrorCode): object {
  const dto = plainToInstance(dtoClass, value, TRANSFORM_OPTIONS);
  const mistakes = describe(validateSync(dto, VALIDATE_OPTIONS));
  if (mistakes.length === 0) return dto;
  const more = mistakes.splice(MAX_TOLD).length;
  if (more > 0) mistakes.push(`and ${more} more`);
  throw new PlantStoreError(code, mistakes.join('; '));
}

function describe(mistakes: readonly ValidationError[], path = ''): string[] {
  return mistakes.flatMap(({ property, value, constraints = {}, children = [] }) => {
    const name = path + property;
    if (value === undefined) return [`${name} is missing`];
    const rules = Object.values(constraints).map((rule) => path + rule);
    return [...rules, ...describe(children, `${name}.`)];
  });
}

// What class-transformer knows of a class; it exports no other way to ask.
const { defaultMetadataStorage: transformations } = createRequire(import.meta.url)(
  'class-transformer/cjs/storage.js',
) as typeof import('class-transformer/types/storage.js');

const dtoClasses = new Map<unknown, boolean>();

/** Whether a class has rules. If so, class-transformer gets to know the members that have one. */
function isDtoClass(type: unknown): type is DtoClass {
  const known = dtoClasses.get(type);
  if (known !== undefined) return known;
  const rules =
    typeof type === 'function'
      ? getMetadataStorage().getTargetValidationMetadatas(type, '', true, false)
      : [];
  dtoClasses.set(type, rules.length > 0);
  for (const { propertyName } of rules) expose(type as DtoClass, propertyName);
  return rules.length > 0;
}

function expose(target: DtoClass, propertyName: string): void {
  if (transformations.findExposeMetadata(target, propertyName) === undefined) {
    transformations.addExposeMetadata({ target, propertyName, options: {} });
  }
  const inner = transformations.findTypeMetadata(target, propertyName);
  if (inner !== undefined) {
    isDtoClass(inner.typeFunction());
    return;
  }
  // Not by `@Type()`, which also notes the type of the member, to make arrays of it: `new BigInt()`.
  const type = { typeFunction: () => Object, reflectedType: undefined, options: {} };
  transformations.addTypeMetadata({ target, propertyName, ...type });
  // The rules of a text or a number refuse an object, whatever is in it.
  const declared = Reflect.getMetadata(
    'design:type',
    target.prototype as object,
    propertyName,
  ) as unknown;
  if ([String, Number, Boolean, BigInt].some((primitive) => primitive === declared)) return;
  const direction = TransformationType.PLAIN_TO_CLASS;
  if (transformations.findTransformMetadatas(target, propertyName, direction).length > 0) return;
  const transformFn = ({ obj, key, value }: TransformFnParams): unknown =>
    typeof value === 'object' && value !== null ? (obj as Record<string, unknown>)[key] : value;
  transformations.addTransformMetadata({ target, propertyName, transformFn, options: {} });
}
