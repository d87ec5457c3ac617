import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { PlantStoreError } from '../errors/plant-store.error.js';

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
    const dto = plainToInstance<object, unknown>(metatype, value, {
      excludeExtraneousValues: true,
      exposeUnsetFields: false,
    });
    const mistakes = validateSync(dto, { forbidUnknownValues: true }).flatMap(({ constraints }) =>
      Object.values(constraints ?? {}),
    );
    if (mistakes.length > 0) throw new PlantStoreError('body-not-valid', mistakes.join('; '));
    return dto;
  }
}
