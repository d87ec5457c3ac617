import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringifyExactJson } from '../src/json/exact-json.js';
import { toStoredPlantDto } from '../src/plants/dto/plant-to-dto.js';
import { plantToJson } from '../src/plants/dto/plant-to-json.js';

it('a plant in a page has the JSON of the plant that a look-up answers', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), text, fc.option(text), (id, name, tag) => {
      const json = stringifyExactJson(toStoredPlantDto({ id, name, tag }));
      expect(plantToJson([String(id), name, tag])).toBe(json);
    }),
  );
});
