import { PLANT_FILTERS } from '../../src/plants/plants.filters.js';

/** The statement of a search by name, for EXPLAIN. */
export function searchStatement(name: string): { text: string; values: readonly unknown[] } {
  const values: unknown[] = [];
  const where = PLANT_FILTERS.name.where(name, (value) => `$${values.push(value)}`, '', '');
  return { text: `SELECT id FROM plants WHERE ${where} ORDER BY id LIMIT 51`, values };
}
