import type { EntityMetadata } from 'typeorm';

/** One declaration for all entities of a table. */
export function merged(entities: readonly EntityMetadata[]): EntityMetadata {
  const [first, ...others] = entities as [EntityMetadata, ...EntityMetadata[]];
  if (others.length === 0) return first;
  const all = <Part>(
    parts: (entity: EntityMetadata) => readonly Part[],
    nameOf: (part: Part) => unknown,
  ) => ({
    value: [...new Map(entities.flatMap(parts).map((part) => [nameOf(part), part])).values()],
  });
  const nameOf = ({ name }: { readonly name?: string | undefined }) => name;
  return Object.create(first, {
    columns: all(
      ({ columns }) => columns,
      ({ databaseName }) => databaseName,
    ),
    indices: all(({ indices }) => indices, nameOf),
    checks: all(({ checks }) => checks, nameOf),
    uniques: all(({ uniques }) => uniques, nameOf),
    exclusions: all(({ exclusions }) => exclusions, nameOf),
    foreignKeys: all(({ foreignKeys }) => foreignKeys, nameOf),
  }) as EntityMetadata;
}
