/** A plant as its columns have it in text. */
export type PlantColumns = readonly [id: string, name: string, tag: string | null, ...unknown[]];

/**
 * Writes a stored plant as JSON, exactly as `stringifyExactJson` writes the object of `toStoredPlantDto`, without making
 * that object.
 */
export function plantToJson([id, name, tag]: PlantColumns): string {
  const end = tag === null ? '}' : `,"tag":${JSON.stringify(tag)}}`;
  return `{"id":${id},"name":${JSON.stringify(name)}${end}`;
}
