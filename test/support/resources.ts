import { readFileSync } from 'node:fs';
import { DOCUMENT } from './application.js';

/* The resources of the committed document, and values for their members. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly example?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Content {
  readonly content?: Readonly<
    Record<
      string,
      {
        readonly schema: Schema;
        readonly examples?: Readonly<
          Record<string, { readonly value: { readonly error: number } }>
        >;
      }
    >
  >;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

const { paths, components } = JSON.parse(readFileSync(DOCUMENT, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** The schema of an object; of a reference, what it refers to; of a list, the schema of its items. */
function resolved(schema: Schema = {}): Schema {
  if (schema.$ref !== undefined) {
    return resolved(components.schemas[schema.$ref.replace('#/components/schemas/', '')]);
  }
  return schema.items === undefined ? schema : resolved(schema.items);
}

const schemaOf = ({ content = {} }: Content = {}) => resolved(Object.values(content)[0]?.schema);

/** What has all operations of a resource: create, list, import, export, look-up, replace, change and remove. */
export interface Resource {
  /** Such as `plants`. */
  readonly name: string;
  /** The table, such as `plants`. */
  readonly table: string;
  /** The members of what a look-up answers. */
  readonly members: Readonly<Record<string, Schema>>;
  /** Those that are always there. */
  readonly required: readonly string[];
  /** The names of the members of bodies and answers, by what has them, such as `the body of replacePlant`. */
  readonly memberLists: ReadonlyMap<string, readonly string[]>;
  /** The members of the body of a create, of which a published interface may have fixed some. */
  readonly created: readonly string[];
  /** The numbers of the errors that say that an id is taken. */
  readonly idTaken: readonly number[];
}

export const RESOURCES: readonly Resource[] = Object.keys(paths)
  .filter((path) => paths[`${path}/{id}`] !== undefined && paths[`${path}/import`] !== undefined)
  .map((path) => {
    const { get: list, post: create } = paths[path]!;
    const { get, put, patch } = paths[`${path}/{id}`]!;
    const { properties: members = {}, required = [] } = schemaOf(get?.responses['200']);
    const failures = Object.values(create!.responses).flatMap(({ content = {} }) =>
      Object.entries(content['application/json']?.examples ?? {}),
    );
    const schemas = new Map<string, Schema>();
    for (const operation of [get, list, put, patch]) {
      if (operation === undefined) continue;
      const { operationId, requestBody, responses } = operation;
      schemas.set(`the answer of ${operationId}`, schemaOf(responses['200']));
      if (requestBody) schemas.set(`the body of ${operationId}`, schemaOf(requestBody));
    }
    return {
      name: path.slice(1),
      table: path.slice(1).replaceAll('-', '_'),
      members,
      required,
      memberLists: new Map(
        [...schemas].map(([name, { properties = {} }]) => [name, Object.keys(properties)]),
      ),
      created: Object.keys(schemaOf(create!.requestBody).properties ?? {}),
      idTaken: failures
        .filter(([code]) => code.endsWith('id-taken'))
        .map(([, { value }]) => value.error),
    };
  });

/** A call of an operation, as a generated client makes it. */
export interface Call {
  readonly tag: string;
  readonly operation: string;
  readonly id?: unknown;
  readonly body?: unknown;
  /** The name of the schema of the body. */
  readonly bodyName?: string;
  /** It answers lines of JSON. */
  readonly answersLines: boolean;
}

/** A call of each operation of a resource, which all succeed one after the other, and what each answers. */
export function callsOf({ name, members, created }: Resource): (readonly [Call, unknown])[] {
  const row = Object.fromEntries(
    created
      // There need not be what a row refers to.
      .filter((member) => member === 'id' || members[member]?.format !== 'int64')
      .map((member) => [member, valuesOf(`${name}.${member}`, members[member]!)[0]]),
  );
  const { id, ...content } = row;
  const [changed = ''] = Object.keys(content);
  const change = { [changed]: valuesOf(`${name}.${changed}`, members[changed]!)[1] };
  const { properties: answered = {} } = schemaOf(paths[`/${name}`]!['post']!.responses['200']);
  const lines = `${JSON.stringify(row)}\n`;
  const call = (path: string, method: string, body?: unknown): Call => {
    const { operationId, tags, requestBody, responses } = paths[`/${name}${path}`]![method]!;
    const { $ref } = Object.values(requestBody?.content ?? {})[0]?.schema ?? {};
    return {
      tag: tags[0]!,
      operation: operationId,
      answersLines: responses['200']?.content?.['application/x-ndjson'] !== undefined,
      ...(path === '/{id}' && { id }),
      ...(body !== undefined && { body }),
      ...($ref !== undefined && { bodyName: $ref.replace('#/components/schemas/', '') }),
    };
  };
  return [
    [
      call('', 'post', row),
      Object.fromEntries(Object.entries(row).filter(([member]) => member in answered)),
    ],
    [call('/import', 'post', lines), '{"created":0,"unchanged":1,"refused":0}\n'],
    [call('', 'get'), [row]],
    [call('/export', 'get'), `${lines}\n`],
    [call('/{id}', 'get'), row],
    [call('/{id}', 'put', { ...content, ...change }), { ...row, ...change }],
    [call('/{id}', 'patch', { [changed]: content[changed] }), row],
    [call('/{id}', 'delete'), null],
  ];
}

/**
 * A value that a member may have, from its schema, and another one.
 *
 * @throws Error if the schema has no example, or there is no rule here for another value
 */
export function valuesOf(name: string, schema: Schema): readonly [unknown, unknown] {
  const { enum: choices, items } = schema;
  const example = schema.example ?? choices?.[0] ?? (items && [valuesOf(name, items)[0]]);
  if (example === undefined && schema.type === 'boolean') return [true, false];
  const other = othersOf(example, name, schema).find((value) => isValid(value, schema));
  if (example !== undefined && other !== undefined) return [example, other];
  throw new Error(
    `${name} needs ${example === undefined ? 'an example in its schema' : 'a second value: add a rule to test/support/resources.ts'}`,
  );
}

function othersOf(example: unknown, name: string, schema: Schema): readonly unknown[] {
  if (schema.enum !== undefined) return schema.enum.filter((choice) => choice !== example);
  if (typeof example === 'boolean') return [!example];
  if (typeof example === 'number') return [example + 1, example - 1];
  if (Array.isArray(example)) {
    return schema.items === undefined ? [] : [[valuesOf(name, schema.items)[1]]];
  }
  if (typeof example !== 'string') return [];
  // In numbers, dates and UUIDs, any other digit will do, but the first is never 0.
  const digit = example.replace(/\d(?!.*\d)/, (last) => (last === '1' ? '2' : '1'));
  return schema.format === undefined && !/^[\d.-]+$/.test(example)
    ? [`${example} 2`, `${example}2`, `2${example}`.slice(0, example.length), digit]
    : [digit, `2${example}`];
}

function isValid(value: unknown, { pattern, maxLength = Infinity, maximum }: Schema): boolean {
  if (typeof value === 'number') return value <= (maximum ?? Infinity);
  if (typeof value !== 'string') return true;
  return value.length <= maxLength && new RegExp(pattern ?? '', 'u').test(value);
}

/** A CSV file as the command exports it: the header line, and rows with nothing in the columns that they do not name. */
export function csvOf(name: string, ...rows: readonly Readonly<Record<string, string>>[]): string {
  const columns = Object.keys(RESOURCES.find((resource) => resource.name === name)!.members);
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))];
  return lines.map((fields) => `${fields.join()}\r\n`).join('');
}
