import type { Type } from '@nestjs/common';
import type { DataSource, EntityMetadata } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { tableOf } from '../../database/data-source.js';
import type { ServiceException } from '../../errors/service.exception.js';
import { isExcluded, validatedPropertiesOf } from '../../http/body/dto.pipe.js';
import { requireKey, unsupportedFeatures } from './entity-checks.js';
import { entityColumn } from './entity-column.js';
import type { EntityColumn } from './entity-column.js';
import { declarationOf } from './kind.js';
import { KEY_TYPES } from './key-type.js';
import type { Key, Keyed, KeyType } from './key-type.js';
import { parameterLength } from './parameter-length.js';

/** The parameters of a row, one for each of {@link EntityColumns.given}. */
export type RowParameters = readonly unknown[];

/** An entity whose clients choose its key. */
export interface Identified extends Keyed {
  readonly id: bigint;
}

export type IdError<Id extends Key> = (id: Id) => ServiceException;

/** Rows that a create locks: its own if clients choose the id, and rows that it refers to. */
export interface NeededRows {
  /** The position in {@link EntityColumns.given} of the column with their key. */
  readonly at: number;
  readonly table: string;
  readonly key: string;
  readonly type: string;
  readonly lock: 'NO KEY UPDATE' | 'KEY SHARE';
}

/** A column and its new value, in SQL. */
export interface SetColumn {
  readonly name: string;
  readonly value: string;
}

export class EntityColumns {
  readonly tableName: string;
  /** The quoted identifier in SQL. */
  readonly table: string;
  readonly key: EntityColumn;
  readonly keyType: KeyType;
  /** Whether the database makes the key, not the client. */
  readonly isGenerated: boolean;
  readonly all: readonly EntityColumn[];
  /** The list of {@link all} in SQL. */
  readonly names: string;
  /** The columns that a create stores: neither the database nor TypeORM fills them. */
  readonly given: readonly EntityColumn[];
  /** Whether all values of {@link given} are read as they were written. */
  readonly isVerbatim: boolean;
  /** The columns of {@link given} that a change may set. */
  readonly changeable: readonly EntityColumn[];
  /** What each change sets besides. */
  readonly changed: readonly SetColumn[];
  /** The time of the removal: a removed row stays in the table. By `@DeleteDateColumn()`. */
  readonly removedAt: EntityColumn | undefined;
  /** The conditions in SQL of the rows that are not removed; none if the table has no others. */
  readonly notRemoved: readonly string[];
  readonly needed: readonly NeededRows[];
  /** An SQL expression for the bytes of a row in columns whose values can be long. */
  readonly bytes: string;
  /** `unnest` cannot take columns with arrays, because PostgreSQL has no arrays of arrays. */
  readonly hasArrays: boolean;
  /** The properties that only the service sets. */
  private readonly managed: ReadonlySet<string>;
  private readonly defaults: readonly (readonly [property: string, value: unknown])[];
  private readonly ofDto = new Map<Type, readonly EntityColumn[]>();
  private readonly ofBody = new Map<Function, ReadonlyMap<string, unknown>>();

  /**
   * Reads the metadata that TypeORM makes when it connects.
   *
   * @param mistakes gets a line for each feature that statements of a resource would ignore
   * @throws TypeError if the entity has another primary key, or without `mistakes`, such a feature
   */
  constructor(
    dataSource: DataSource,
    private readonly entity: Type,
    key = 'id',
    mistakes?: string[],
  ) {
    const metadata = dataSource.getMetadata(entity);
    const primary = requireKey(metadata, key);
    const unsupported = unsupportedFeatures(metadata, dataSource.driver);
    if (mistakes !== undefined) mistakes.push(...unsupported);
    else if (unsupported.length > 0) throw new TypeError(unsupported.join('\n'));
    this.tableName = metadata.tableName;
    this.table = tableOf(dataSource, metadata);
    const columns = metadata.columns.filter(({ isVirtual }) => !isVirtual);
    this.all = columns.map((column) => entityColumn(dataSource, column));
    this.names = this.all.map(({ name }) => name).join(', ');
    this.key = this.column(key);
    this.keyType = KEY_TYPES[this.key.type as 'bigint' | 'uuid'];
    this.isGenerated = primary.isGenerated || primary.default !== undefined;
    this.given = this.all.filter(
      (column, at) => isGiven(columns[at]!) && !(column === this.key && this.isGenerated),
    );
    this.isVerbatim = this.given.every((column) => column.isVerbatim);
    this.changeable = this.given.filter(
      (column) =>
        column !== this.key && metadata.findColumnWithPropertyName(column.property)?.isUpdate,
    );
    this.changed = columns.flatMap(({ isVersion, isUpdateDate }, at) => {
      const { name } = this.all[at]!;
      if (isVersion) return { name, value: `${name} + 1` };
      return isUpdateDate ? { name, value: 'CURRENT_TIMESTAMP' } : [];
    });
    this.removedAt = this.all.find((_, at) => columns[at]!.isDeleteDate);
    this.notRemoved = this.removedAt === undefined ? [] : [`${this.removedAt.name} IS NULL`];
    this.needed = this.neededRows(dataSource, metadata);
    const lengths = this.all.flatMap(({ bytes }) => bytes ?? []);
    this.bytes = lengths.length === 0 ? '0' : lengths.join(' + ');
    this.hasArrays = columns.some(({ isArray }) => isArray);
    const managed = this.given.filter(
      ({ property }) =>
        declarationOf(entity, property).isManaged === true || isExcluded(entity, property),
    );
    this.managed = new Set(managed.map(({ property }) => property));
    this.defaults = this.given
      .map(({ property }) => [property, declarationOf(entity, property).default] as const)
      .filter(([, value]) => value !== undefined);
  }

  private neededRows(
    dataSource: DataSource,
    { foreignKeys }: EntityMetadata,
  ): readonly NeededRows[] {
    const { given, key, table } = this;
    const own = { at: given.indexOf(key), table, key: key.name, type: key.type } as const;
    const others = foreignKeys.flatMap(
      ({ columnNames, referencedColumnNames, referencedEntityMetadata }) => {
        const at = given.findIndex(({ databaseName }) => databaseName === columnNames[0]);
        if (at === -1 || columnNames.length > 1) return [];
        return {
          at,
          table: tableOf(dataSource, referencedEntityMetadata),
          key: dataSource.driver.escape(referencedColumnNames[0]!),
          type: given[at]!.type,
          lock: 'KEY SHARE' as const,
        };
      },
    );
    return [...(this.isGenerated ? [] : [{ ...own, lock: 'NO KEY UPDATE' } as const]), ...others];
  }

  /** @throws TypeError */
  column(property: string): EntityColumn {
    const column = this.all.find((candidate) => candidate.property === property);
    if (column === undefined) throw new TypeError(`${this.table} has no column for ${property}`);
    return column;
  }

  named(name: string): EntityColumn | undefined {
    return this.all.find((each) => each.databaseName === name || each.name === name);
  }

  of(dtoClass: Type): readonly EntityColumn[] {
    const known = this.ofDto.get(dtoClass);
    if (known !== undefined) return known;
    const columns = [...validatedPropertiesOf(dtoClass)].map((property) => this.column(property));
    this.ofDto.set(dtoClass, columns);
    return columns;
  }

  /** What a PUT stores in each property of the class of its body, or of the entity, that the body lacks. */
  replacedBy({ constructor: type }: object): ReadonlyMap<string, unknown> {
    const known = this.ofBody.get(type);
    if (known !== undefined) return known;
    const validated = validatedPropertiesOf(type);
    const settable = this.all
      .map(({ property }) => property)
      .filter((property) => declarationOf(this.entity, property).isManaged !== true);
    const defaults = new Map(this.defaults);
    const properties = validated.size === 0 ? settable : [...validated];
    const replaced = new Map(
      properties.map((property) => [property, defaults.get(property) ?? null]),
    );
    this.ofBody.set(type, replaced);
    return replaced;
  }

  /** The content of a create, with the defaults of the properties that it lacks. */
  complete<Content extends object>(content: Content): Content {
    if (this.defaults.length === 0) return content;
    const values = content as Readonly<Record<string, unknown>>;
    const lacking = this.defaults.filter(([property]) => (values[property] ?? null) === null);
    if (lacking.length === 0) return content;
    return { ...content, ...structuredClone(Object.fromEntries(lacking)) };
  }

  /** What of the content of a create comes from a client, who sends it again with a request that is repeated. */
  sent(content: object): object {
    if (this.managed.size === 0) return content;
    return Object.fromEntries(
      Object.entries(content).filter(([property]) => !this.managed.has(property)),
    );
  }

  /**
   * The list of a SELECT: whether the row has more bytes than the limit, and the columns. In such a row, columns whose values can
   * be long are null.
   */
  list(columns: readonly EntityColumn[], maxBytes = Infinity): string {
    const isLong = maxBytes === Infinity ? 'false' : `${this.bytes} > ${maxBytes}`;
    const names = columns.map(({ name, bytes }) =>
      bytes === undefined || maxBytes === Infinity
        ? name
        : `CASE WHEN ${this.bytes} <= ${maxBytes} THEN ${name} END AS ${name}`,
    );
    return [`${isLong} AS rs__is_long`, ...names].join(', ');
  }

  parametersOf(content: object): readonly unknown[] {
    const values = content as Readonly<Record<string, unknown>>;
    return this.given.map(({ property, toParameter }) => toParameter(values[property] ?? null));
  }

  /** The total length of the parameters that can be long, in characters. */
  lengthOf(parameters: readonly unknown[]): number {
    let length = 0;
    for (const [at, { bytes }] of this.given.entries()) {
      if (bytes !== undefined) length += parameterLength(parameters[at]);
    }
    return length;
  }

  /** Converts a row that the driver has read, by default with all columns, to an entity. */
  entityOf(row: readonly unknown[], columns = this.all): object {
    const entity: Record<string, unknown> = {};
    for (const [at, { property, fromDriver }] of columns.entries()) {
      entity[property] = fromDriver(row[at]);
    }
    return entity;
  }
}

export function contentOf(columns: readonly EntityColumn[], entity: object): object {
  const values = entity as Readonly<Record<string, unknown>>;
  const content: Record<string, unknown> = {};
  for (const { property } of columns) {
    const value = values[property];
    if (value !== null && value !== undefined) content[property] = value;
  }
  return content;
}

/** Writes a row, whose columns begin after its first value, as JSON, without the object of {@link contentOf}. */
export function rowToJson(columns: readonly EntityColumn[], row: readonly unknown[]): string {
  let json = '';
  for (let at = 0; at < columns.length; at++) {
    const value = row[at + 1];
    if (value === null) continue;
    const { jsonName, toJson } = columns[at]!;
    json += (json === '' ? '{' : ',') + jsonName + toJson(value);
  }
  return `${json}}`;
}

function isGiven(column: ColumnMetadata): boolean {
  const { isInsert, isGenerated, isCreateDate, isUpdateDate, isDeleteDate, isVersion } = column;
  return isInsert && !(isGenerated || isCreateDate || isUpdateDate || isDeleteDate || isVersion);
}
