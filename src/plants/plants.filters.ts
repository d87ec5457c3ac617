import type { Filters } from '@resource-service/framework';
import type { ListPlantsDto } from './dto/list-plants.dto.js';

/** A search looks at so many characters of a name: LIKE heeds no timeout within a row. */
const SEARCHED = 4_000;

/** The index on tags has hashes, because an index entry cannot be as long as a tag (manual, chapter 64.1). */
const TAG_HASH = 'hashtextextended(tag, 0)';

/**
 * Folds case in all of Unicode, whatever the collation of the database: `ß`, `SS` and `ẞ` are equal, and so are `σ` and
 * `ς`. pg_trgm makes lower-case trigrams; a final Σ would become another letter than a Σ within a word, so it is
 * replaced by a letter without that rule.
 */
const folded = (text: string): string =>
  `translate(upper(lower(${text} COLLATE "und-x-icu")), 'Σ', 'Ϲ')`;

export const PLANT_FILTERS: Filters<ListPlantsDto> = {
  /**
   * Written as a range of the index, and sorted like the index. With an equality, the planner may expect to find the tag
   * soon among all plants in the order of their ids, and read half of the table. The tag itself is compared in a
   * `coalesce`, whose selectivity the planner does not estimate: for a tag that it expects to be rare, it would read and
   * sort all plants with the tag for each page.
   */
  tag: {
    where: (value, parameter, start, end) => {
      const tag = parameter(value);
      return `(${TAG_HASH}, id) >= (hashtextextended(${tag}, 0), ${parameter(start, 'id')})
        AND (${TAG_HASH}, id) <= (hashtextextended(${tag}, 0), ${parameter(end, 'id')})
        AND tag IS NOT NULL AND coalesce(tag = ${tag}, false)`;
    },
    estimate: (value, parameter) => `tag = ${parameter(value)}`,
    indexPrefix: TAG_HASH,
    equals: 'tag',
  },
  name: {
    where: (value, parameter) => {
      const pattern = parameter(`%${value.replaceAll(/[\\%_]/g, '\\$&')}%`);
      return `${folded(`left(name, ${SEARCHED})`)} LIKE ${folded(pattern)}`;
    },
    isSearch: true,
  },
};
