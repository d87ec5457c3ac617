import { createHash } from 'node:crypto';
import { parametersOf } from './properties.js';

/* The code of properties: places in the files of a resource, and what is put there. */

export function inEntity(properties, { table, one }) {
  const enums = properties.filter(isEnum);
  const indexed = properties.filter(({ filter }) => filter.isIndexed);
  const has = (isSo) => properties.some(isSo);
  const typeorm = {
    Column: has(({ columnOptions }) => columnOptions !== undefined),
    Entity: true,
    Index: indexed.length > 0,
    PrimaryGeneratedColumn: true,
  };
  const own = [
    ...properties.map(({ decorator }) => decorator),
    ...['INT64_COLUMN', 'TIMESTAMP_COLUMN'].filter((options) =>
      has(({ columnOptions }) => columnOptions === options),
    ),
    ...(has(({ filter }) => filter.isSortable) ? ['Sortable'] : []),
  ];
  const types = ['Filled', ...(has(({ type }) => type === 'json') ? ['JsonValue'] : [])];
  return [
    importOf(
      'import',
      'typeorm',
      Object.keys(typeorm).filter((name) => typeorm[name]),
    ),
    importOf('import', FRAMEWORK, ['INT64_COLUMN', 'Int64Field', ...own]),
    importOf('import type', FRAMEWORK, types),
    [
      /(?<=const ID_COLUMN = .*\n)/,
      enums
        .map(
          (property) =>
            `\nconst ${valuesName(property)} = ${json(property.parameters)} as const;\n`,
        )
        .join(''),
    ],
    [
      /(?=@Entity\()/,
      indexed
        .map(({ name, column }) => `@Index('${table}_${column}_id_idx', ['${name}', 'id'])\n`)
        .join(''),
    ],
    [
      / {2}@Column\('text'\)[^]*(?=\n\}\n$)/,
      properties.map((property) => inClass(property, one)).join('\n\n'),
    ],
  ];
}

const FRAMEWORK = '@resource-service/framework';

function inClass(property, one) {
  const { name, column, isOptional, columnOptions, decorator, typescript, filter, values } =
    property;
  const ownName = column === name ? {} : { name: `'${column}'` };
  const field = {
    description: json(descriptionOf(property, one)),
    example: json(values[0]),
    ...property.options?.(property),
    ...(isOptional && { isOptional: true }),
    ...(columnOptions === undefined && column !== name && { column: objectOf(ownName) }),
  };
  const type = isEnum(property) ? `(typeof ${valuesName(property)})[number]` : typescript;
  return [
    ...(filter.isSortable ? ['@Sortable()'] : []),
    ...(columnOptions === undefined
      ? []
      : [columnDecorator(columnOptions, { ...ownName, ...(isOptional && { nullable: true }) })]),
    `@${decorator}(${isEnum(property) ? `${valuesName(property)}, ` : ''}${objectOf(field)})`,
    // A JsonValue can be null.
    `readonly ${name}!: ${type}${isOptional && property.type !== 'json' ? ' | null' : ''};`,
  ]
    .map((line) => `  ${line}`)
    .join('\n');
}

function columnDecorator(columnOptions, further) {
  const isType = columnOptions.startsWith("'");
  if (Object.keys(further).length === 0) return `@Column(${columnOptions})`;
  return isType
    ? `@Column(${columnOptions}, ${objectOf(further)})`
    : `@Column({ ...${columnOptions}, ${objectOf(further).slice(2)})`;
}

function descriptionOf({ type, words }, one) {
  if (type !== 'boolean') return `The ${words} of the ${one}.`;
  return `Whether the ${one} ${/^(is|has|can|was) /.test(words) ? words : `is ${words}`}.`;
}

export function inMigration(properties, { table }) {
  const checks = properties.filter(isEnum).map(({ column, parameters }) => {
    const condition = `"${column}" IN (${parameters.map((value) => `'${value}'`).join(', ')})`;
    return `      CONSTRAINT "${checkName(table, condition)}" CHECK (${condition}),\n`;
  });
  const indexes = properties
    .flatMap((property) => indexOf(property, table))
    .map((index) => `    await queryRunner.query(\`CREATE INDEX ${index}\`);\n`);
  return [
    columnsOf(properties, ({ isOptional }) => (isOptional ? '' : ' NOT NULL')),
    [/(?=^ {6}CONSTRAINT "\w+_pkey")/m, checks.join('')],
    [/(?<=_pkey" PRIMARY KEY \("id"\)\n {4}\)`\);\n)/, indexes.join('')],
  ];
}

/** Columns that each record has itself: `ChangeOf` gives a column of the entity with such a name a prefix. */
const OF_RECORDS = new Set(['kind', 'position', 'principal', 'request_id', 'time']);

export function inRecordMigration(properties) {
  const stored = properties.map((property) => ({
    ...property,
    column: OF_RECORDS.has(property.column) ? `content_${property.column}` : property.column,
  }));
  return [columnsOf(stored, () => '')];
}

/** Between the id and the constraints of a table. */
function columnsOf(properties, constraint) {
  const lines = properties.map(
    (property) => `      "${property.column}" ${property.sql(property)}${constraint(property)},\n`,
  );
  return [/^ {6}"name" text[^]*?"note" text,\n/m, lines.join('')];
}

/** As `@Sortable()` and `@Index()` declare it. */
function indexOf({ column, type, filter }, table) {
  if (filter.isIndexed) return `"${table}_${column}_id_idx" ON "${table}" ("${column}", "id")`;
  if (!filter.isSortable) return [];
  const key = type === 'text' ? `left("${column}", 100) COLLATE "C"` : `"${column}"`;
  return `"${table}_${column}_sort_idx" ON "${table}" (${key}, "id")`;
}

/** As TypeORM names it. */
function checkName(table, condition) {
  const hash = createHash('sha1').update(`${table}_${condition}`).digest('hex');
  return `CHK_${hash.slice(0, 26)}`;
}

export function inDto(properties, { filters }) {
  const parameters = properties.flatMap((property) =>
    Object.entries(parametersOf(property)).map(([parameter, by]) => ({
      by,
      line: `  ${parameter}: ${by}('${property.name}'),\n`,
    })),
  );
  if (parameters.length === 0) return [];
  const constant = `/** The parameters that filter lists. */
export const ${filters} = {
${parameters.map(({ line }) => line).join('')}};

`;
  return [
    [/ {2}ListOf,\n/, (found) => sorted(parameters.map(({ by }) => `  ${by},\n`)).join('') + found],
    [
      /@NoOtherParameters\(\)\nexport class List\w+ extends ListOf\(\w+/,
      (found) => `${constant}${found}, ${filters}`,
    ],
  ];
}

export function inRepository(properties, { filters }) {
  if (!properties.some(hasFilter)) return [];
  return [
    [/(?<=import \{ )(?=\w+ \} from '\.\/dto\/)/, `${filters}, `],
    [/(?<=filters: )\{\}/, filters],
  ];
}

export function inController(properties) {
  return properties.some(hasFilter) ? [[/(?<= {2}examples: \w+,\n)/, '  hasSearch: true,\n']] : [];
}

function hasFilter({ filter }) {
  return filter.isIndexed === true || filter.isSortable === true;
}

function isEnum({ type }) {
  return type === 'enum';
}

function valuesName({ column }) {
  return `${column.toUpperCase()}_VALUES`;
}

function importOf(kind, from, names) {
  return [
    new RegExp(`${kind} \\{[^}]*\\} from '${from}';`),
    `${kind} { ${sorted(names).join(', ')} } from '${from}';`,
  ];
}

function sorted(names) {
  return [...new Set(names)].toSorted((one, other) => one.localeCompare(other));
}

function objectOf(parts) {
  const entries = Object.entries(parts).filter(([, source]) => source !== undefined);
  return `{ ${entries.map(([name, source]) => `${name}: ${source}`).join(', ')} }`;
}

function json(value) {
  return JSON.stringify(value);
}
