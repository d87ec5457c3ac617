import type { OpenApiDocument } from '@resource-service/client/document';
import { check } from '../check.js';
import type { Check } from '../check.js';
import type { TestedResource } from '../tested-resource.js';
import type { Row, TestedService } from '../tested-service.js';
import { verify } from '../violation.js';
import { pagesOf, sortsOf, verifyItems } from './lists.js';

const ROWS = 12;

/** Items of a page. */
const PAGE = 5;

interface Nested {
  /** Of the list. */
  readonly path: string;
  readonly rows: readonly Row[];
}

/** The checks of lists such as `/folders/{id}/notes`: they have the rows that refer to the row in the path, and no others. */
export function nestedListChecks(
  resource: TestedResource,
  parents: readonly TestedResource[],
): readonly Check[] {
  return parents.flatMap((parent) => {
    const property = resource.referenceTo(parent);
    const path = pathIn(resource.document, `${parent.path}/{}/${resource.name}`);
    const list = path && resource.document.paths[path]?.get;
    if (property === undefined || !path || !list) return [];
    let made: Promise<Nested> | undefined;
    return sortsOf(list).map((sort) => {
      const name = `list of ${path.slice(1)}${sort ? ` by ${sort}` : ''}: its rows once`;
      return check(name, async (service) => {
        made ??= make(service, resource, parent, property);
        const nested = await made;
        const parameters = { limit: String(PAGE), ...(sort && { sort }) };
        const items = await pagesOf(service, nested.path, parameters, PAGE);
        verifyItems(nested.rows, items, sort);
        const others = items.length - nested.rows.length;
        verify(others === 0, `${nested.path} has ${others} rows of others`);
      });
    });
  });
}

/** The path of the document with `{}` for the name of its parameter. */
function pathIn({ paths }: OpenApiDocument, pattern: string): string | undefined {
  return Object.keys(paths).find((path) => path.replaceAll(/\{\w+\}/g, '{}') === pattern);
}

async function make(
  service: TestedService,
  resource: TestedResource,
  parent: TestedResource,
  property: string,
): Promise<Nested> {
  const [row, other] = (await parent.createMany(service, 2)) as [Row, Row];
  const rows = await resource.createMany(service, ROWS, { [property]: row.id });
  await resource.create(service, { [property]: other.id });
  return { path: `${row.path}/${resource.name}`, rows };
}
