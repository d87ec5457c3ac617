import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { Expose, plainToInstance, Transform, TransformationType } from 'class-transformer';
// What decorators have declared. The package does not export it; @nestjs/mapped-types reads the same file.
import { defaultMetadataStorage as declared } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, ValidateBy, validateSync } from 'class-validator';
import type { ValidationError } from 'class-validator';
import type { ErrorKind } from '../../errors/error-kind.js';
import { ERRORS } from '../../errors/common-errors.js';
import { ServiceException } from '../../errors/service.exception.js';
import type { JsonSource } from '../../json/exact-json.js';
import { addMember, hasFractions, withRoundedFractions } from '../../json/rounded-fractions.js';
import type { MediaTypes, UnreadBody } from './json-body.js';
import { quote } from '../../json/quote.js';

type DtoClass = new () => object;

const MEDIA_TYPES = Symbol('media types');
const NO_OTHERS = Symbol('no others');

/** Declares the media types of a body of this class, instead of `application/json`. The content is JSON. */
export function BodyTypes(...types: MediaTypes): ClassDecorator {
  return (target) => Reflect.defineMetadata(MEDIA_TYPES, types, target);
}

/**
 * For the class of a `@Query()`: refuses parameters without a rule, and parameters that occur twice, unless their schema is a list.
 * Otherwise a typing error would look like a missing filter.
 */
export function NoOtherParameters(): ClassDecorator {
  return (target) => Reflect.defineMetadata(NO_OTHERS, true, target);
}

/** The class of a `@Query()` that refuses every parameter. */
@NoOtherParameters()
export class NoParametersDto {}

/**
 * Builds the DTO of `@Body()`, `@Query()` or `@Param()` with class-transformer, and validates it with class-validator.
 * Members without a rule are ignored. An object or array without a class (`@Type()`) is passed unchanged; a
 * `@Transform()` finds it in `obj[key]`. Single parameters, such as `@Query('name')`, and custom decorators are passed
 * unchanged as well.
 *
 * This is no subclass of Nest's ValidationPipe: it lets a body pass unchecked if its type was lost, removes a member called
 * `constructor` of a JSON object, and takes quadratic time for many unknown members, because class-transformer does. The application lists it instead:
 *
 * ```ts
 * providers: [{ provide: APP_PIPE, useClass: DtoPipe }],
 * ```
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    const isSingle = data !== undefined;
    if (type === 'custom' || (isSingle && type !== 'body')) return value;
    if (metatype === NoParametersDto) {
      refuseOthers(metatype, value as object);
      // class-validator would refuse an object whose class has no rules.
      return new NoParametersDto();
    }
    if (isSingle || !isDtoClass(metatype)) {
      // Path parameters are strings, and Nest's documentation declares them as `any`.
      if (type === 'param') return value;
      // After `import type`, the run-time type is `Object`: a failure is better than a body without validation.
      throw new TypeError(
        `declare the whole ${type} as one parameter, and its type as a class with rules, imported as a value`,
      );
    }
    if (type === 'body') return bodyAs(metatype, value as UnreadBody);
    if (Reflect.hasMetadata(NO_OTHERS, metatype)) refuseOthers(metatype, value as object);
    return make(metatype, value as object, ERRORS.parameterNotValid);
  }
}

async function bodyAs(dtoClass: DtoClass, body: UnreadBody): Promise<object> {
  const types = Reflect.getMetadata(MEDIA_TYPES, dtoClass) as MediaTypes | undefined;
  return toDto(dtoClass, await body.read(types), 'body');
}

/**
 * Builds a DTO from parsed JSON, and validates it.
 *
 * @throws ServiceException `body-not-valid`
 */
export function toDto<T extends object>(
  dtoClass: new () => T,
  value: unknown,
  source: JsonSource,
): T {
  if (!isDtoClass(dtoClass)) throw new TypeError('the class has no rules');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceException(ERRORS.bodyNotValid, `the ${source} must be a JSON object`);
  }
  return make(dtoClass, roundedFor(dtoClass, value), ERRORS.bodyNotValid) as T;
}

/** @throws TypeError */
export function requireDto(type: Function): void {
  if (!isDtoClass(type)) throw new TypeError(`the members of ${type.name} have no rules`);
}

/** Builds a DTO from JSON that was made from such a DTO. It is not validated or rounded: rules can change. */
export function restoreDto<T extends object>(dtoClass: new () => T, value: object): T {
  requireDto(dtoClass);
  const options = { ...TRANSFORM_OPTIONS, exposeDefaultValues: false };
  return plainToInstance(dtoClass, value, options);
}

/** The name of the rule. Rules are what mapped classes, such as `PartialType()`, inherit. */
const EXACT = 'exactDigits';

/**
 * For a member with JSON of any form: its numbers keep all digits, as `ExactNumber`, unless another rule needs numbers. Without it,
 * fractions are rounded like a double. `DtoOf()` and its relatives have it for each column `jsonb`.
 */
export function ExactDigits(): PropertyDecorator {
  return ValidateBy({ name: EXACT, validator: { validate: () => true } });
}

/** What the members of a class are made of: only those with `@ExactDigits()` keep the digits of fractions. */
function roundedFor(dtoClass: DtoClass, value: object): object {
  const given = value as Readonly<Record<string, unknown>>;
  const exact = exactMembers(dtoClass);
  const rounded = roundedMembers(given, (name) => !exact.has(name));
  const kept = [...exact.keys()].filter((name) => hasFractions(rounded[name]));
  if (kept.length === 0) return rounded;
  const mistakes = validateSync(plainToInstance(dtoClass, rounded, TRANSFORM_OPTIONS));
  const wrong = new Set(mistakes.map(({ property }) => property));
  return roundedMembers(rounded, (name) => wrong.has(exact.get(name) ?? ''));
}

function roundedMembers(
  value: Readonly<Record<string, unknown>>,
  isRounded: (name: string) => boolean,
): Readonly<Record<string, unknown>> {
  let rounded: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (!hasFractions(member) || !isRounded(name)) continue;
    rounded ??= { ...value };
    addMember(rounded, name, withRoundedFractions(member));
  }
  return rounded ?? value;
}

const exactOf = new Map<DtoClass, ReadonlyMap<string, string>>();

/** The properties that keep all digits, by their names in JSON. Members that have a class are rounded. */
function exactMembers(dtoClass: DtoClass): ReadonlyMap<string, string> {
  const known = exactOf.get(dtoClass);
  if (known !== undefined) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(dtoClass, '', true, false);
  const nested = new Set(
    rules.filter(({ type }) => type === 'nestedValidation').map((rule) => rule.propertyName),
  );
  const names = rules.flatMap(({ name, propertyName }) =>
    name === EXACT && !nested.has(propertyName)
      ? [[nameInJson(dtoClass, propertyName), propertyName] as const]
      : [],
  );
  const exact = new Map(names);
  exactOf.set(dtoClass, exact);
  return exact;
}

function refuseOthers(dtoClass: DtoClass, parameters: object): void {
  const names = membersOf(dtoClass);
  for (const [name, value] of Object.entries(parameters)) {
    if (!names.has(name)) {
      throw new ServiceException(ERRORS.parameterNotValid, `there is no parameter ${quote(name)}`);
    }
    if (Array.isArray(value) && !isList(dtoClass, name)) {
      throw new ServiceException(ERRORS.parameterNotValid, `${name} must not be given twice`);
    }
  }
}

/** Where `@ApiProperty()` keeps its options. The package does not export it. */
const SCHEMA = 'swagger/apiModelProperties';

/**
 * Whether the schema of a parameter is a list. OpenAPI has two forms of it, `ids=1&ids=2` and `ids=1,2`, and can declare only one; many
 * generated clients send the first, which is the default, whatever the document says.
 */
function isList({ prototype }: DtoClass, name: string): boolean {
  const schema = Reflect.getMetadata(SCHEMA, prototype as object, name) as
    { readonly type?: unknown; readonly isArray?: boolean } | undefined;
  return schema?.isArray === true || schema?.type === 'array';
}

/* Only exposed members are read. For an object without a class, class-transformer takes quadratic time, and it would
   use the value of a member called `constructor` as the class. */
const TRANSFORM_OPTIONS = { strategy: 'excludeAll', exposeDefaultValues: true } as const;

/** Most mistakes that a message lists. */
const MAX_LISTED = 10;

function make(dtoClass: DtoClass, value: object, kind: ErrorKind): object {
  const dto = plainToInstance(dtoClass, value, TRANSFORM_OPTIONS);
  // A rule of several members together is told once.
  const mistakes = [...new Set(describe(validateSync(dto)))];
  if (mistakes.length === 0) return dto;
  const more = mistakes.splice(MAX_LISTED).length;
  if (more > 0) mistakes.push(`and ${more} more`);
  throw new ServiceException(kind, mistakes.join('; '));
}

function describe(mistakes: readonly ValidationError[], path = ''): string[] {
  return mistakes.flatMap(({ property, value, constraints = {}, children = [] }) => {
    const name = path + property;
    if (value === undefined) return [`${name} is missing`];
    const rules = Object.values(constraints).map((rule) => path + rule);
    return [...rules, ...describe(children, `${name}.`)];
  });
}

const dtoClasses = new Map<unknown, boolean>();

/** Whether a class has validation rules. If so, registers the members that have one with class-transformer. */
function isDtoClass(type: unknown): type is DtoClass {
  const known = dtoClasses.get(type);
  if (known !== undefined) return known;
  const members = typeof type === 'function' ? membersOf(type) : new Set<string>();
  dtoClasses.set(type, members.size > 0);
  for (const member of members) expose(type as DtoClass, member);
  return members.size > 0;
}

/** The members of a class that have a rule. */
export function membersOf(type: Function): ReadonlySet<string> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', true, false);
  return new Set(rules.map(({ propertyName }) => propertyName));
}

/** Whether a property has `@Exclude()`, also in a class above. */
export function isExcluded(type: Function, property: string): boolean {
  return declared.findExcludeMetadata(type, property) !== undefined;
}

function nameInJson(dtoClass: DtoClass, member: string): string {
  return declared.findExposeMetadata(dtoClass, member)?.options.name ?? member;
}

function expose(dtoClass: DtoClass, member: string): void {
  const prototype = dtoClass.prototype as object;
  const exposed = declared.findExposeMetadata(dtoClass, member);
  if (exposed === undefined) Expose()(prototype, member);
  const name = nameInJson(dtoClass, member);
  const inner = declared.findTypeMetadata(dtoClass, member);
  if (inner !== undefined) {
    isDtoClass(inner.typeFunction());
    return;
  }
  declared.addTypeMetadata({
    target: dtoClass,
    propertyName: member,
    // `@Type()` would find the declared type, and class-transformer would call `new BigInt()` for an array.
    reflectedType: undefined,
    typeFunction: () => Object,
    options: {},
  });
  const direction = TransformationType.PLAIN_TO_CLASS;
  if (declared.findTransformMetadatas(dtoClass, member, direction).length > 0) return;
  Transform(({ obj, value }: { obj: Record<string, unknown>; value: unknown }) =>
    typeof value === 'object' && value !== null ? obj[name] : value,
  )(prototype, member);
}
