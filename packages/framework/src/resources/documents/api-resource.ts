import { applyDecorators, RequestMethod } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { requestPrecondition } from '../../http/responses/entity-tag.js';
import { create } from './create-operation.js';
import { wordsOf } from './resource-docs.js';
import type { Document, ResourceDocs, Words } from './resource-docs.js';
import { get, list, patch, remove, replace } from './stored-operations.js';
import { exportRows, importRows } from './transfer-operations.js';

/** The usual routes of a resource. */
const ROUTES: Readonly<Record<string, Document>> = {
  'POST ': create,
  'GET ': list,
  'POST import': importRows,
  'GET export': exportRows,
  'GET :id': get,
  'PUT :id': replace,
  'PATCH :id': patch,
  'DELETE :id': remove,
};

/**
 * Documents the usual routes of a controller, in any number: `POST` and `GET` of the path, `POST import`, `GET export`, and `GET`,
 * `PUT`, `PATCH` and `DELETE` of `:id`. Bodies are the classes of the parameters of the methods, and `If-Match` is documented if there is
 * a parameter with `@RequestPrecondition()`. `@ApiOperation()` and the `type` of `@ApiOkResponse()` on a method have priority. Any
 * other route has decorators of @nestjs/swagger, and {@link ApiErrors}.
 *
 * @example
 * ```ts
 * @ApiResource({
 *   one: 'a tool',
 *   plural: 'tools',
 *   dto: StoredToolDto,
 *   errors: { noSuch: TOOL_ERRORS.toolNotFound },
 *   examples: { create: { saw: { summary: 'A saw', value: { id: 1, name: 'Saw' } } } },
 * })
 * @Controller('tools')
 * export class ToolsController {}
 * ```
 */
export function ApiResource(docs: ResourceDocs): ClassDecorator {
  const words = wordsOf(docs);
  return ({ prototype }) => {
    const methods = Object.getOwnPropertyDescriptors(prototype as object);
    for (const [name, method] of Object.entries(methods)) {
      const document = typeof method.value === 'function' && ROUTES[routeOf(method.value)];
      if (document) documented(document, words)(prototype as object, name, method);
    }
  };
}

/** Documents a method. */
export function documented(document: Document, words: Words): MethodDecorator {
  return (controller, name, method) => {
    const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller.constructor, name) ??
      {}) as Readonly<Record<string, { readonly factory?: unknown }>>;
    const types = Reflect.getMetadata('design:paramtypes', controller, name) as readonly Type[];
    const of = {
      body: types.find((_, index) => `${RouteParamtypes.BODY}:${index}` in parameters) ?? words.dto,
      response: responseOf(method.value as object) ?? words.dto,
      hasPrecondition: Object.values(parameters).some(
        ({ factory }) => factory === requestPrecondition,
      ),
    };
    applyDecorators(...document(words, of))(controller, name, method);
  };
}

function routeOf(handler: object): string {
  const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
  if (method === undefined) return '';
  const path = String(Reflect.getMetadata(PATH_METADATA, handler));
  return `${RequestMethod[method]} ${path.replaceAll(/^\/|\/$/g, '')}`;
}

/** The `type` of `@ApiOkResponse()` or `@ApiCreatedResponse()`. */
function responseOf(handler: object): Type | undefined {
  const responses = (Reflect.getMetadata('swagger/apiResponse', handler) ?? {}) as Readonly<
    Record<string, { readonly type?: Type }>
  >;
  return (responses[200] ?? responses[201])?.type;
}
