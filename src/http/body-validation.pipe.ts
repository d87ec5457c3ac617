import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { getMetadataStorage, validateSync } from 'class-validator';
import { PlantStoreError } from '../errors/plant-store.error.js';
import { toInteger } from './exact-json.js';

/**
 * Turns a JSON body into the DTO class of the parameter, checked by the class-validator decorators
 * of that class. Members without a decorator are ignored.
 *
 * Nest's own ValidationPipe would also convert path and query parameters, with the unary plus, before
 * any other pipe sees them: ids would lose digits.
 */
@Injectable()
export class BodyValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'custom') return value;
    // An `import type` of the DTO leaves `Object` as its run-time type: better no answer than no rules.
    if (metatype === undefined || metatype === Object) {
      throw new TypeError('the type of a body must be a DTO class, imported as a value');
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new PlantStoreError('body-not-valid', 'the body must be a JSON object');
    }
    const dto = build(metatype as new () => object, value);
    const mistakes = validateSync(dto, OPTIONS).flatMap(({ constraints }) =>
      Object.values(constraints ?? {}),
    );
    if (mistakes.length > 0) throw new PlantStoreError('body-not-valid', mistakes.join('; '));
    return dto;
  }
}

const OPTIONS = { forbidUnknownValues: true };

/**
 * An instance of the class with the members of the body that have a rule. What class-transformer is for,
 * which takes more time than all the rules.
 */
function build(metatype: new () => object, body: object): object {
  const dto = new metatype() as Record<string, unknown>;
  for (const name of membersOf(metatype)) {
    if (!Object.hasOwn(body, name)) continue;
    const value = (body as Record<string, unknown>)[name];
    dto[name] = toInteger(value) ?? value;
  }
  return dto;
}

const members = new Map<unknown, readonly string[]>();

/** The members of a DTO class that have a rule. */
function membersOf(metatype: new () => object): readonly string[] {
  let names = members.get(metatype);
  if (names === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', true, false);
    names = [...new Set(rules.map(({ propertyName }) => propertyName))];
    members.set(metatype, names);
  }
  return names;
}
