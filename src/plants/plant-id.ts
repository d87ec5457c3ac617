import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { ERRORS } from '../errors/common-errors.js';
import { PlantStoreError } from '../errors/plant-store.error.js';

/** The range of a plant's id: `integer`, format `int64`. */
export const MIN_PLANT_ID = -(2n ** 63n);
export const MAX_PLANT_ID = 2n ** 63n - 1n;

export const PLANT_ID_RULE = `id must be an integer between ${MIN_PLANT_ID} and ${MAX_PLANT_ID}`;

export const PLANT_ID_PATH_RULE = `${PLANT_ID_RULE}, in canonical decimal form`;

/** The schema of a plant's id. The library's types allow only numbers, but the document is written with exact digits. */
export const PLANT_ID_SCHEMA = {
  type: 'integer',
  format: 'int64',
  minimum: MIN_PLANT_ID as unknown as number,
  maximum: MAX_PLANT_ID as unknown as number,
} as const;

export function isPlantId(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= MIN_PLANT_ID && value <= MAX_PLANT_ID;
}

/** Parses an id in canonical decimal form; `undefined` for any other text. */
export function parsePlantId(text: string): bigint | undefined {
  const id = /^(0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined;
  return isPlantId(id) ? id : undefined;
}

/** Parses the `id` of a path. Only the canonical decimal form is valid, so that every plant has a single path. */
@Injectable()
export class PlantIdPipe implements PipeTransform<string, bigint> {
  /**
   * @param text percent-decoded: `/plants/%31` is `/plants/1` (RFC 3986, section 6.2.2.2)
   * @throws PlantStoreError `parameter-not-valid`
   */
  transform(text: string): bigint {
    const id = parsePlantId(text);
    if (id === undefined) throw new PlantStoreError(ERRORS.parameterNotValid, PLANT_ID_PATH_RULE);
    return id;
  }
}
