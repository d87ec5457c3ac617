import { apiOperations } from '@resource-service/framework';
import {
  NewPlantDto,
  PlantDto,
  PlantPatchDto,
  PlantReplacementDto,
  StoredPlantDto,
} from './dto/plant.dto.js';
import { PLANT_ERRORS } from './plants.errors.js';

/** The documentation of the operations. */
export const API = apiOperations({
  one: 'a plant',
  plural: 'plants',
  operationIds: ['Plant', 'Plants'],
  created: NewPlantDto,
  answer: PlantDto,
  stored: StoredPlantDto,
  replacement: PlantReplacementDto,
  patch: PlantPatchDto,
  errors: { idTaken: PLANT_ERRORS.idTaken, noSuch: PLANT_ERRORS.noSuchPlant },
  hasSearch: true,
  // Each has its own id, so that every request succeeds. One id is above 2^53: it shows which tools round.
  examples: {
    'a-plant': {
      summary: 'A plant with a tag',
      value: { id: 1001, name: 'Monstera', tag: 'indoor' },
    },
    'any-text': {
      summary: 'Text of any script comes back as it was',
      value: { id: 1002, name: '月下美人 “Queen of the Night” 🌵', tag: "l'épiphyte" },
    },
    'long-id': {
      summary: 'An id that many JSON parsers round: 2^53 + 1',
      value: { id: 9007199254740993n, name: 'Welwitschia', tag: 'desert' },
    },
    'without-tag': { summary: 'A plant without a tag', value: { id: 1003, name: 'Ficus' } },
  },
  changed: 1001,
  replacements: {
    'with-tag': { summary: 'A new name and a tag', value: { name: 'Weeping fig', tag: 'indoor' } },
    'without-tag': { summary: 'Without a tag', value: { name: 'Ficus' } },
  },
  patches: {
    tag: { summary: 'Another tag', value: { tag: 'balcony' } },
    'no-tag': { summary: 'No tag', value: { tag: null } },
  },
  imported: [
    { id: 1101, name: 'Aloe', tag: 'indoor' },
    { id: 1102, name: 'Lavender' },
  ],
  refused: { body: [{ id: 1103, name: 'Sage' }, { id: 1104 }], message: 'name is missing' },
});
