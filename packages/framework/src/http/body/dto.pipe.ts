import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { Expose, plainToInstance, Transform, TransformationType } from 'class-transformer';
// Not exported by the package; @nestjs/mapped-types reads the same file.
import { defaultMetadataStorage as declared } from 'class-transformer/cjs/storage.js';
import { ValidateBy, validateSync } from 'class-validator';
import type { ValidationError } from 'class-validator';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { JsonSource } from '../../json/exact-json.js';
import { addProperty, hasFractions, withRoundedFractions } from '../../json/rounded-fractions.js';
import { ANY_VALUE, isValid, toInstance, TRANSFORM_OPTIONS, validationsOf } from './class-plan.js';
import type { MediaTypes, UnreadBody } from './json-body.js';
import { quoteText } from '../../json/quote.js';

type DtoClass = new () => object;

const MEDIA_TYPES = Symbol('media types');
export const NO_OTHERS = Symbol('no others');

/**
 * Declares the media types of a JSON body of this class. Default: `application/json`.
 *
 * @example
 * @BodyTypes('application/vnd.tools+json')
 * export class NewToolDto extends NewOf(Tool) {}
 */
export function BodyTypes(...types: MediaTypes): ClassDecorator {
  return (target) => Reflect.defineMetadata(MEDIA_TYPES, types, target);
}

/**
 * For the class of a `@Query()`: rejects parameters without a constraint, which a mistyped filter would be, and repeated
 * parameters unless their schema is a list.
 *
 * @example
 * @NoOtherParameters()
 * export class ListToolsDto extends ListOf(Tool, TOOL_FILTERS) {}
 */
export function NoOtherParameters(): ClassDecorator {
  return (target) => Reflect.defineMetadata(NO_OTHERS, true, target);
}

/**
 * The class of a `@Query()` that rejects all parameters.
 *
 * @example import(@Query() _query: NoParametersDto) {}
 */
@NoOtherParameters()
export class NoParametersDto {}

/**
 * Builds the DTO of `@Body()`, `@Query()` or `@Param()` with class-transformer, and validates it with class-validator.
 * Properties without a constraint are ignored. These are passed unchanged: an object or array without a class (`@Type()`),
 * which a `@Transform()` finds in `obj[key]`, single parameters, such as `@Query('name')`, and parameters of custom decorators.
 *
 * Instead of Nest's ValidationPipe, which would pass a body unchecked if its type was lost, remove a field `constructor` of a JSON
 * object, and take quadratic time for many unknown fields.
 *
 * @example providers: [{ provide: APP_PIPE, useClass: DtoPipe }],
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    const isSingle = data !== undefined;
    if (type === 'custom' || (isSingle && type !== 'body')) return value;
    if (metatype === NoParametersDto) {
      rejectOthers(metatype, value as object);
      // class-validator rejects objects of a class without constraints.
      return new NoParametersDto();
    }
    // DtoArrayPipe, which the start requires, validates the items.
    if (type === 'body' && !isSingle && metatype === Array) return arrayOf(value as UnreadBody);
    if (isSingle || !isDtoClass(metatype)) {
      // Path parameters are strings, and Nest's documentation declares them as `any`.
      if (type === 'param') return value;
      // The start rejects it. After `import type`, the run-time type is `Object`, and the body would not be validated.
      throw new TypeError(
        `declare the whole ${type} as one parameter, and its type as a class with constraints, imported as a value`,
      );
    }
    if (type === 'body') return bodyAs(metatype, value as UnreadBody);
    if (Reflect.hasMetadata(NO_OTHERS, metatype)) rejectOthers(metatype, value as object);
    return make(metatype, value as object, ERRORS.parameterNotValid);
  }
}

/**
 * Validates the items of a body that is an array, each as {@link DtoPipe} does. Nest's `ParseArrayPipe` would keep properties
 * that the class lacks.
 *
 * @example createMany(@Body(new DtoArrayPipe(NoteDto)) notes: NoteDto[]) {}
 */
export class DtoArrayPipe<T extends object> implements PipeTransform {
  /** @throws TypeError for a class without constraints */
  constructor(private readonly items: new () => T) {
    requireDto(items);
  }

  transform(value: readonly unknown[]): readonly T[] {
    return value.map((item) => toDto(this.items, item, 'body'));
  }
}

async function bodyAs(dtoClass: DtoClass, body: UnreadBody): Promise<object> {
  const types = Reflect.getMetadata(MEDIA_TYPES, dtoClass) as MediaTypes | undefined;
  return toDto(dtoClass, await body.read(types), 'body');
}

async function arrayOf(body: UnreadBody): Promise<unknown> {
  const value = await body.read();
  if (Array.isArray(value)) return value;
  throw new ServiceException(ERRORS.bodyNotValid, 'the body must be a JSON array');
}

/** @throws ServiceException `body-not-valid` */
export function toDto<T extends object>(
  dtoClass: new () => T,
  value: unknown,
  source: JsonSource,
): T {
  if (!isDtoClass(dtoClass)) throw new TypeError('the class has no constraints');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceException(ERRORS.bodyNotValid, `the ${source} must be a JSON object`);
  }
  return make(dtoClass, roundedFor(dtoClass, value), ERRORS.bodyNotValid) as T;
}

export function requireDto(type: Function): void {
  if (!isDtoClass(type)) throw new TypeError(`the properties of ${type.name} have no constraints`);
}

/** Builds a DTO from its own JSON, without validation or rounding: constraints may have changed since. */
export function restoreDto<T extends object>(dtoClass: new () => T, value: object): T {
  requireDto(dtoClass);
  const options = { ...TRANSFORM_OPTIONS, exposeDefaultValues: false };
  return plainToInstance(dtoClass, value, options);
}

/** Mapped classes, such as `PartialType()`, inherit validations. */
const EXACT = 'exactDigits';

/**
 * For a property with any JSON: its numbers keep all digits, as `ExactNumber`, unless another constraint needs numbers. Without
 * it, fractions are rounded to doubles. `DtoOf()` and its relatives add it for each column `jsonb`.
 *
 * @example
 * @ExactDigits()
 * @IsDefined()
 * readonly specs!: JsonValue;
 */
export function ExactDigits(): PropertyDecorator {
  return ValidateBy({ name: EXACT, validator: { validate: () => true } });
}

/** Rounds fractions, except in properties with `@ExactDigits()` whose other constraints allow it. */
function roundedFor(dtoClass: DtoClass, value: object): object {
  const given = value as Readonly<Record<string, unknown>>;
  const exact = exactProperties(dtoClass);
  const rounded = roundedFields(given, (name) => !exact.has(name));
  if (![...exact.keys()].some((name) => hasFractions(rounded[name]))) return rounded;
  const mistakes = validateSync(toInstance(dtoClass, rounded));
  const wrong = new Set(mistakes.map(({ property }) => property));
  return roundedFields(rounded, (name) => wrong.has(exact.get(name) ?? ''));
}

function roundedFields(
  value: Readonly<Record<string, unknown>>,
  isRounded: (name: string) => boolean,
): Readonly<Record<string, unknown>> {
  let rounded: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const field = value[name];
    if (!hasFractions(field) || !isRounded(name)) continue;
    rounded ??= { ...value };
    addProperty(rounded, name, withRoundedFractions(field));
  }
  return rounded ?? value;
}

const exactOf = new Map<DtoClass, ReadonlyMap<string, string>>();

/** The properties that keep all digits, by field name. Properties that have a class are rounded. */
function exactProperties(dtoClass: DtoClass): ReadonlyMap<string, string> {
  const known = exactOf.get(dtoClass);
  if (known !== undefined) return known;
  const validations = validationsOf(dtoClass);
  const nested = validations.filter(({ type }) => type === 'nestedValidation');
  const names = validations
    .filter(({ name }) => name === EXACT)
    .map(({ propertyName }) => propertyName)
    .filter((property) => !nested.some(({ propertyName }) => propertyName === property))
    .map((property) => [fieldName(dtoClass, property), property] as const);
  const exact = new Map(names);
  exactOf.set(dtoClass, exact);
  return exact;
}

const parametersOf = new Map<DtoClass, ReadonlySet<string>>();

function rejectOthers(dtoClass: DtoClass, parameters: object): void {
  let names = parametersOf.get(dtoClass);
  // A search of all metadata of class-validator.
  if (names === undefined) parametersOf.set(dtoClass, (names = validatedPropertiesOf(dtoClass)));
  for (const [name, value] of Object.entries(parameters)) {
    if (!names.has(name)) {
      throw new ServiceException(
        ERRORS.parameterNotValid,
        `there is no parameter ${quoteText(name)}`,
      );
    }
    if (Array.isArray(value) && !isList(dtoClass, name)) {
      throw new ServiceException(ERRORS.parameterNotValid, `${name} must not be given twice`);
    }
  }
}

/** Where `@ApiProperty()` keeps its options (not exported). */
const SCHEMA = 'swagger/apiModelProperties';

/**
 * Whether the schema of a parameter is a list. Of its two forms, `ids=1&ids=2` and `ids=1,2`, OpenAPI can declare only one, and
 * many generated clients send the first, whatever the document says.
 */
function isList({ prototype }: DtoClass, name: string): boolean {
  const schema = Reflect.getMetadata(SCHEMA, prototype as object, name) as
    { readonly type?: unknown; readonly isArray?: boolean } | undefined;
  return schema?.isArray === true || schema?.type === 'array';
}

const MAX_LISTED_MISTAKES = 10;

function make(dtoClass: DtoClass, value: object, kind: ErrorKind): object {
  const dto = toInstance(dtoClass, value);
  if (isValid(dto)) return dto;
  // A constraint on several properties together is reported once.
  const mistakes = [...new Set(describe(validateSync(dto)))];
  if (mistakes.length === 0) return dto;
  const more = mistakes.splice(MAX_LISTED_MISTAKES).length;
  if (more > 0) mistakes.push(`and ${more} more`);
  throw new ServiceException(kind, mistakes.join('; '));
}

function describe(mistakes: readonly ValidationError[], path = ''): string[] {
  return mistakes.flatMap(({ property, value, constraints = {}, children = [] }) => {
    const name = path + property;
    if (value === undefined) return [`${name} is missing`];
    const own = Object.values(constraints).map((constraint) => path + constraint);
    return [...own, ...describe(children, `${name}.`)];
  });
}

const dtoClasses = new Map<unknown, boolean>();

/** Whether a class has constraints. If so, registers its properties with class-transformer. */
function isDtoClass(type: unknown): type is DtoClass {
  const known = dtoClasses.get(type);
  if (known !== undefined) return known;
  const properties = typeof type === 'function' ? validatedPropertiesOf(type) : new Set<string>();
  dtoClasses.set(type, properties.size > 0);
  for (const property of properties) expose(type as DtoClass, property);
  return properties.size > 0;
}

export function validatedPropertiesOf(type: Function): ReadonlySet<string> {
  return new Set(validationsOf(type).map(({ propertyName }) => propertyName));
}

export function isExcluded(type: Function, property: string): boolean {
  return declared.findExcludeMetadata(type, property) !== undefined;
}

function fieldName(dtoClass: DtoClass, property: string): string {
  return declared.findExposeMetadata(dtoClass, property)?.options.name ?? property;
}

function expose(dtoClass: DtoClass, property: string): void {
  const prototype = dtoClass.prototype as object;
  const exposed = declared.findExposeMetadata(dtoClass, property);
  if (exposed === undefined) Expose()(prototype, property);
  const name = fieldName(dtoClass, property);
  const inner = declared.findTypeMetadata(dtoClass, property);
  if (inner !== undefined) {
    isDtoClass(inner.typeFunction());
    return;
  }
  declared.addTypeMetadata({
    target: dtoClass,
    propertyName: property,
    reflectedType: undefined,
    typeFunction: ANY_VALUE,
    options: {},
  });
  const direction = TransformationType.PLAIN_TO_CLASS;
  if (declared.findTransformMetadatas(dtoClass, property, direction).length > 0) return;
  Transform(({ obj, value }: { obj: Record<string, unknown>; value: unknown }) =>
    typeof value === 'object' && value !== null ? obj[name] : value,
  )(prototype, property);
}
