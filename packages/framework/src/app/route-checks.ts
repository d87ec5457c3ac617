import type { PipeTransform, Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { MetadataScanner } from '@nestjs/core';
import { DtoArrayPipe, NoParametersDto, validatedPropertiesOf } from '../http/body/dto.pipe.js';
import { pluralOf } from '../resources/documents/api-resource.js';

interface Route {
  /** Such as `ToolsController.list`. */
  readonly name: string;
  /** Such as `3:0` for the body in the first parameter. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly types: readonly unknown[];
}

interface Parameter {
  readonly index: number;
  /** The name of a part, such as the `x` of `@Body('x')`. */
  readonly data?: unknown;
  readonly pipes: readonly (PipeTransform | Type<PipeTransform>)[];
}

const CHECKS: readonly ((route: Route) => Iterable<string>)[] = [bodyMistakes, queryMistakes];

/** What a controller declares that cannot work: each request would get 500, or the document would be wrong. */
export function routeMistakes(controller: Type): readonly string[] {
  const prototype = controller.prototype as Readonly<Record<string, object>>;
  const names = new MetadataScanner().getAllMethodNames(prototype);
  const routes = names.filter((name) => Reflect.hasMetadata(METHOD_METADATA, prototype[name]!));
  return [
    ...pluralMistakes(controller),
    ...routes.flatMap((name) => {
      const args: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name);
      const types: unknown = Reflect.getMetadata('design:paramtypes', prototype, name);
      const parameters = (args ?? {}) as Route['parameters'];
      const route = {
        name: `${controller.name}.${name}`,
        parameters,
        types: (types ?? []) as Route['types'],
      };
      return CHECKS.flatMap((check) => Array.from(check(route)));
    }),
  ];
}

function* pluralMistakes(controller: Type): Generator<string> {
  const plural = pluralOf(controller);
  if (plural === undefined) return;
  const paths = [Reflect.getMetadata(PATH_METADATA, controller) as string | readonly string[]];
  const last = plural.replaceAll(' ', '-');
  if (paths.flat().some((path) => path.split('/').includes(last))) return;
  yield `${controller.name} has the plural ${JSON.stringify(plural)} in @ApiResource(), so its path must contain ${last}`;
}

function* bodyMistakes({ name, parameters, types }: Route): Generator<string> {
  const bodies = ofKind(parameters, RouteParamtypes.BODY);
  if (bodies.length > 1) yield `${name} has several parameters with @Body(): only one can read it`;
  for (const { index, data, pipes } of bodies) {
    const type = types[index];
    if (data === undefined && isDto(type)) continue;
    if (data === undefined && type === Array) {
      if (pipes.some((pipe) => pipe instanceof DtoArrayPipe)) continue;
      yield `${name} has an array as its body, which needs @Body(new DtoArrayPipe(…))`;
    } else yield `${name} ${wholeAs('body')}`;
  }
}

function* queryMistakes({ name, parameters, types }: Route): Generator<string> {
  for (const { index, data } of ofKind(parameters, RouteParamtypes.QUERY)) {
    const type = types[index];
    if (data === undefined && type !== NoParametersDto && !isDto(type)) {
      yield `${name} ${wholeAs('query')}`;
    }
  }
}

/** After `import type`, or for an interface, the type at run time is `Object`. */
function wholeAs(what: string): string {
  return `must declare its whole ${what} as one parameter, and the type as a class with constraints, imported as a value`;
}

function ofKind(parameters: Route['parameters'], kind: RouteParamtypes): readonly Parameter[] {
  return Object.entries(parameters)
    .filter(([key]) => key.startsWith(`${kind}:`))
    .map(([, parameter]) => parameter);
}

function isDto(type: unknown): boolean {
  return typeof type === 'function' && validatedPropertiesOf(type).size > 0;
}
