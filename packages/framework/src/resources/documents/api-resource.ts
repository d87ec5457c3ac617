import { applyDecorators, RequestMethod } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import {
  HTTP_CODE_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { MetadataScanner } from '@nestjs/core';
import { requestPrecondition } from '../../http/responses/entity-tag.js';
import { requestIdempotencyKey } from '../idempotency/request-idempotency-key.decorator.js';
import { RESPONSES } from '../../http/errors/api-errors.js';
import { create } from './create-operation.js';
import { wordsOf } from './resource-docs.js';
import type { Document, ResourceDocs, Words } from './resource-docs.js';
import { get, list, patch, remove, replace, restore } from './stored-operations.js';
import { exportRows, importRows } from './transfer-operations.js';

const PLURAL = Symbol('plural');

const ROUTES: Readonly<Record<string, Document>> = {
  'POST ': create,
  'GET ': list,
  'POST import': importRows,
  'GET export': exportRows,
  'GET :id': get,
  'PUT :id': replace,
  'PATCH :id': patch,
  'DELETE :id': remove,
  'POST :id/restore': restore,
};

/**
 * Documents the usual routes of a controller, in any number: `POST` and `GET` of the path, `POST import`, `GET export`, `GET`,
 * `PUT`, `PATCH` and `DELETE` of `:id`, and `POST :id/restore`. Bodies are the classes of the parameters of the methods. `If-Match` is
 * documented if there is a parameter with `@RequestPrecondition()`, and `Idempotency-Key` if there is one with
 * `@RequestIdempotencyKey()`. `@ApiOperation()`, the `type` of `@ApiOkResponse()` and {@link ApiErrors} on a method have
 * priority. Any other route has decorators of @nestjs/swagger, and {@link ApiErrors}.
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
  return (controller) => {
    Reflect.defineMetadata(PLURAL, docs.plural, controller);
    const prototype = controller.prototype as Readonly<Record<string, object>>;
    const names = new MetadataScanner().getAllMethodNames(prototype);
    const all = new Set(names.flatMap((name) => routesOf(prototype[name]!)));
    const has = (document: Document) => [...all].some((route) => ROUTES[route] === document);
    const words = wordsOf(docs, has(restore), pathOf(controller), has(importRows));
    for (const name of names) {
      const method = Object.getOwnPropertyDescriptor(prototype, name);
      const routes = routesOf(prototype[name]!);
      const [document] = routes.flatMap((route) => ROUTES[route] ?? []);
      if (method !== undefined && routes.length === 1 && document !== undefined) {
        documented(document, words)(prototype, name, method);
      } else if (!Reflect.hasMetadata('swagger/apiOperation', prototype[name]!)) {
        requireUnusual(`${controller.name}.${name}`, routes, method !== undefined);
      }
    }
  };
}

export function pluralOf(controller: Type): string | undefined {
  return Reflect.getOwnMetadata(PLURAL, controller) as string | undefined;
}

/** Such as `shops/{shopId}/tools`. `@Controller()` comes first, because it stands below {@link ApiResource}. */
function pathOf(controller: object): string | undefined {
  const paths = Reflect.getMetadata(PATH_METADATA, controller) as string | readonly string[];
  const [path] = [paths].flat();
  return path?.replaceAll(/^\/|\/$/g, '').replaceAll(/:(\w+)/g, '{$1}');
}

/** @throws TypeError for a usual route that cannot be documented */
function requireUnusual(name: string, routes: readonly string[], isOwn: boolean): void {
  if (!routes.some((route) => route.replace(/ :\w+$/, ' :id') in ROUTES)) return;
  const mistake =
    routes.length > 1
      ? 'has several paths'
      : isOwn
        ? 'has another parameter than :id'
        : 'is inherited';
  throw new TypeError(
    `${name} ${mistake}, so @ApiResource() cannot document it: change that, or add @ApiOperation()`,
  );
}

export function documented(document: Document, words: Words): MethodDecorator {
  return (controller, name, method) => {
    const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller.constructor, name) ??
      {}) as Readonly<Record<string, { readonly factory?: unknown }>>;
    const factories = new Set(Object.values(parameters).map(({ factory }) => factory));
    const types = Reflect.getMetadata('design:paramtypes', controller, name) as readonly Type[];
    const typeOf = (kind: RouteParamtypes) =>
      types.find((_, index) => `${kind}:${index}` in parameters);
    const of = {
      body: typeOf(RouteParamtypes.BODY) ?? words.dto,
      query: typeOf(RouteParamtypes.QUERY),
      response: responseOf(method.value as object) ?? words.dto,
      status: statusOf(method.value as object),
      hasPrecondition: factories.has(requestPrecondition),
      hasIdempotencyKey: factories.has(requestIdempotencyKey),
    };
    applyDecorators(...document(words, of))(controller, name, method);
  };
}

/** Such as `GET :id`, one for each path; none if the method handles no requests. */
function routesOf(handler: object): readonly string[] {
  const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
  if (method === undefined) return [];
  const paths = [Reflect.getMetadata(PATH_METADATA, handler) as string | readonly string[]].flat();
  return paths.map((path) => `${RequestMethod[method]} ${path.replaceAll(/^\/|\/$/g, '')}`);
}

function statusOf(handler: object): number {
  const isPost = Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.POST;
  const status = Reflect.getMetadata(HTTP_CODE_METADATA, handler) as number | undefined;
  return status ?? (isPost ? 201 : 200);
}

/** The `type` of `@ApiOkResponse()` or `@ApiCreatedResponse()`. */
function responseOf(handler: object): Type | undefined {
  const responses = (Reflect.getMetadata(RESPONSES, handler) ?? {}) as Readonly<
    Record<string, { readonly type?: Type }>
  >;
  return (responses[200] ?? responses[201])?.type;
}
