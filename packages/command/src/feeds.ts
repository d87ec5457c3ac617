import { typeOf } from './resources.js';
import type { ColumnType, OpenApiDocument } from './resources.js';

/** The changes of a resource. */
export interface Feed {
  /** Its path without the slash at the beginning, such as `changes`. */
  readonly name: string;
  /** The parameter for the changes of one record, if it has one. */
  readonly selection: Selection | undefined;
}

export interface Selection {
  readonly name: string;
  readonly type: ColumnType;
}

/** What every feed has. */
const COMMON = new Set(['after', 'limit']);

/** The feeds of a document: what can be followed as a stream of events, and has a latest position. */
export function feedsOf(document: OpenApiDocument): readonly Feed[] {
  const { paths } = document;
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const isStream = get?.responses['200']?.content?.['text/event-stream'] !== undefined;
    if (!isStream || !paths[`${path}/latest`]?.get) return [];
    const parameter = (get.parameters ?? []).find(
      (one) => one.in === 'query' && !COMMON.has(one.name),
    );
    const selection = parameter && {
      name: parameter.name,
      type: typeOf(document, parameter.schema),
    };
    return [{ name: path.slice(1), selection }];
  });
}
