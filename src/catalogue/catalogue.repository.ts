import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import type { QueryResultRow } from 'pg';
import { IsNull, Repository } from 'typeorm';
import type { ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import { Statements } from '../database/statements.js';
import type { StoredPlantDto } from '../plants/dto/stored-plant.dto.js';
import { Plant } from '../plants/plant.entity.js';
import { MAX_PLANT_ID, MIN_PLANT_ID } from '../plants/plant-id.js';
import type { PlantFilterDto } from './dto/plant-filter.dto.js';

/** Most bytes of names and tags in a page, unless its first plant has more: names and tags can be as long as a body. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** The index on tags has hashes, because an index entry cannot be as long as a tag (manual, chapter 64.1). */
const TAG_HASH = 'hashtextextended(plant.tag, 0)';

/**
 * Written as a range of the index, and sorted like the index. With an equality, the planner may expect to find the tag
 * soon among all plants in the order of their ids, and read half of the table. The tag itself is compared in a
 * `coalesce`, whose selectivity the planner does not estimate: for a tag that it expects to be rare, it would read and sort
 * all plants with the tag for each page.
 */
const tagAfter = (comparison: '>' | '>='): string =>
  `(${TAG_HASH}, plant.id) ${comparison} (hashtextextended(:tag, 0), :start)
    AND (${TAG_HASH}, plant.id) <= (hashtextextended(:tag, 0), ${MAX_PLANT_ID})
    AND plant.tag IS NOT NULL AND coalesce(plant.tag = :tag, false)`;

/**
 * Folds case in all of Unicode, whatever the collation of the database: `ß`, `SS` and `ẞ` are equal, and so are `σ` and
 * `ς`. pg_trgm makes lower-case trigrams; a final Σ would become another letter than a Σ within a word, so it is
 * replaced by a letter without that rule.
 */
const folded = (text: string): string =>
  `translate(upper(lower(${text} COLLATE "und-x-icu")), 'Σ', 'Ϲ')`;

/** The trigram index has the first 1,000 characters of a name. Another index finds the few longer names. */
const NAME_CONTAINS = [
  `${folded('left(plant.name, 1000)')} LIKE ${folded(':pattern')}`,
  `length(plant.name) > 1000 AND ${folded('plant.name')} LIKE ${folded(':pattern')}`,
];

/** PostgreSQL knows the length of a stored text without reading the text. */
const PLANT_BYTES = 'octet_length(plant.name) + coalesce(octet_length(plant.tag), 0)';

/** A condition on names. */
interface Search {
  readonly condition: string;
  readonly pattern: string;
}

interface PageStatement {
  /** Statements with the same shape have the same text. */
  readonly shape: string;
  /** Adds the conditions and the order of the page to a query that selects columns of `plant`. */
  readonly matching: (
    query: SelectQueryBuilder<ObjectLiteral>,
  ) => SelectQueryBuilder<ObjectLiteral>;
  readonly limit: number;
  readonly values: Readonly<Record<'tag' | 'start' | 'pattern', string | undefined>>;
}

/** Most statements whose text is kept. They differ in filters and `limit`. */
const MAX_TEXTS = 100;

export interface FoundPlants {
  /** In ascending order of id. */
  readonly plants: readonly Plant[];
  /** Whether these are all plants that match. */
  readonly isWhole: boolean;
}

interface PlantRow {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** The statements on many plants, and those that change a plant. */
@Injectable()
export class CatalogueRepository {
  /** Text, and names of the parameters in their order. */
  private readonly texts = new LRUCache<
    string,
    readonly [string, readonly (keyof PageStatement['values'])[]]
  >({ max: MAX_TEXTS });

  constructor(
    @InjectRepository(Plant) private readonly plants: Repository<Plant>,
    private readonly statements: Statements,
  ) {}

  /**
   * Returns the first plants that match the filter: at most `limit`, and at least one if there is any.
   *
   * @param after only greater ids
   */
  async find(
    { tag, name }: PlantFilterDto,
    after: bigint | undefined,
    limit: number,
  ): Promise<FoundPlants> {
    if (name === undefined) return this.page(tag, after, limit);
    const pattern = `%${name.replaceAll(/[\\%_]/g, '\\$&')}%`;
    // Two statements, because the planner cannot estimate how many plants either condition finds.
    const pages: FoundPlants[] = [];
    for (const condition of NAME_CONTAINS) {
      pages.push(await this.page(tag, after, limit, { condition, pattern }));
    }
    return merge(pages, limit);
  }

  private async page(
    tag: string | undefined,
    after: bigint | undefined,
    limit: number,
    search?: Search,
  ): Promise<FoundPlants> {
    const matching = (query: SelectQueryBuilder<ObjectLiteral>) => {
      query
        .from(Plant, 'plant')
        // One plant more tells whether there is another page.
        .limit(limit + 1);
      if (tag !== undefined) {
        query.where(tagAfter(after === undefined ? '>=' : '>')).orderBy(TAG_HASH);
      } else if (after !== undefined) {
        query.where('plant.id > :start');
      }
      if (search !== undefined) query.andWhere(search.condition);
      return query.addOrderBy('plant.id');
    };
    const page: PageStatement = {
      shape: [tag !== undefined, after !== undefined, search?.condition, limit].join(),
      matching,
      limit,
      values: { tag, start: String(after ?? MIN_PLANT_ID), pattern: search?.pattern },
    };
    return (await this.shortPage(page)) ?? this.boundedPage(page);
  }

  /** A page without a plant that is longer than its share of {@link MAX_PAGE_BYTES}; `undefined` if it has such a plant. */
  private async shortPage(page: PageStatement): Promise<FoundPlants | undefined> {
    const { limit, matching } = page;
    const isShort = `${PLANT_BYTES} <= ${Math.floor(MAX_PAGE_BYTES / (limit + 1))}`;
    const rows = await this.run<PlantRow | { readonly name: null }>('short', page, (query) =>
      matching(
        query.select([
          'plant.id AS id',
          `CASE WHEN ${isShort} THEN plant.name END AS name`,
          `CASE WHEN ${isShort} THEN plant.tag END AS tag`,
        ]),
      ),
    );
    const plants = rows.filter((row): row is PlantRow => row.name !== null);
    if (plants.length < rows.length) return undefined;
    return { plants: plants.slice(0, limit).map(toPlant), isWhole: plants.length <= limit };
  }

  /** The first plants of a page, up to {@link MAX_PAGE_BYTES}. Takes PostgreSQL twice as long as a short page. */
  private async boundedPage(page: PageStatement): Promise<FoundPlants> {
    const measured = (query: SelectQueryBuilder<ObjectLiteral>) =>
      page.matching(
        query.select([
          'plant.id AS id',
          'plant.name AS name',
          'plant.tag AS tag',
          `${PLANT_BYTES} AS bytes`,
        ]),
      );
    const summed = (query: SelectQueryBuilder<ObjectLiteral>) =>
      query
        .select('page.*')
        .addSelect('sum(bytes) OVER (ORDER BY id) - bytes', 'before')
        .addSelect('count(*) OVER ()', 'found')
        .from(measured, 'page');
    const rows = await this.run<PlantRow & { readonly found: string }>('bounded', page, (query) =>
      query
        .select(['id', 'name', 'tag', 'found'])
        .from(summed, 'page')
        .where(`before < ${MAX_PAGE_BYTES}`)
        .orderBy('id')
        .limit(page.limit),
    );
    return {
      plants: rows.map(toPlant),
      isWhole: rows.length === Number(rows[0]?.found ?? 0),
    };
  }

  /** Runs a statement of the query builder, whose work takes longer than PostgreSQL's unless its text is kept. */
  private async run<Row>(
    kind: string,
    { shape, values }: PageStatement,
    build: (query: SelectQueryBuilder<ObjectLiteral>) => SelectQueryBuilder<ObjectLiteral>,
  ): Promise<Row[]> {
    const key = `${kind},${shape}`;
    let statement = this.texts.get(key);
    if (statement === undefined) {
      // Each parameter has its name as its value, so the builder returns the names in the order of the text.
      const names = Object.fromEntries(Object.keys(values).map((name) => [name, name]));
      statement = build(this.plants.manager.createQueryBuilder())
        .setParameters(names)
        .getQueryAndParameters() as [string, (keyof typeof values)[]];
      this.texts.set(key, statement);
    }
    const [text, names] = statement;
    const { rows } = await this.statements.run<Row & QueryResultRow>({
      text,
      values: names.map((name) => values[name]),
    });
    return rows;
  }

  /**
   * Changes a plant in one statement.
   *
   * @param expected changes the plant only if it has this content
   * @returns the changed plant, or `undefined` if there is none
   */
  async update(
    id: bigint,
    changes: Partial<Pick<Plant, 'name' | 'tag'>>,
    expected?: StoredPlantDto,
  ): Promise<Plant | undefined> {
    const { raw } = await this.plants
      .createQueryBuilder()
      .update()
      // Without a change, the statement still locks the row and compares it.
      .set(Object.keys(changes).length === 0 ? { name: () => 'name' } : changes)
      .where({ id, ...contentOf(expected) })
      .returning('*')
      .execute();
    return firstPlant(raw);
  }

  /**
   * Removes a plant in one statement.
   *
   * @param expected removes the plant only if it has this content
   * @returns the removed plant, or `undefined` if there is none
   */
  async remove(id: bigint, expected?: StoredPlantDto): Promise<Plant | undefined> {
    const { raw } = await this.plants
      .createQueryBuilder()
      .delete()
      .where({ id, ...contentOf(expected) })
      .returning('*')
      .execute();
    return firstPlant(raw);
  }
}

function contentOf(expected: StoredPlantDto | undefined) {
  return expected && { name: expected.name, tag: expected.tag ?? IsNull() };
}

/** TypeORM returns the rows of RETURNING as the driver does. */
function firstPlant(raw: unknown): Plant | undefined {
  const [row] = raw as PlantRow[];
  return row && toPlant(row);
}

function toPlant({ id, name, tag }: PlantRow): Plant {
  return { id: BigInt(id), name, tag };
}

/**
 * Merges the pages of several conditions, which can find the same plant. Beyond the last plant of a page that is not
 * whole, plants are missing.
 */
function merge(pages: readonly FoundPlants[], limit: number): FoundPlants {
  const ends = pages.flatMap(({ plants, isWhole }) => (isWhole ? [] : plants.slice(-1)));
  const found = new Map(pages.flatMap(({ plants }) => plants.map((plant) => [plant.id, plant])));
  const all = [...found.values()]
    .filter(({ id }) => ends.every((end) => id <= end.id))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const plants = all.slice(0, limit);
  return { plants, isWhole: ends.length === 0 && plants.length === all.length };
}
