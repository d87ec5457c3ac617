import { applyDecorators } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiHeader,
  ApiNoContentResponse,
  ApiNotModifiedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import { ERRORS } from '../errors/common-errors.js';
import type { ErrorKind } from '../errors/error-kind.js';
import { ENTITY_TAGS_SCHEMA } from '../http/answers/entity-tag.js';
import { NDJSON } from '../http/body/ndjson.js';
import { PATCH_TYPES } from '../http/body/merge-patch.js';
import { ApiErrors } from '../http/errors/api-errors.js';
import { INT64_SCHEMA, int64ParameterRule, int64Rule, MAX_INT64, MIN_INT64 } from './int64.js';

/* The documentation of the operations that resources have. */

/** A named example of a resource. The ids are of JSON: a number, or a bigint where a number would be rounded. */
export interface Example {
  readonly summary: string;
  readonly id: number | bigint;
  /** The members besides the id. */
  readonly content: object;
}

/** A change of {@link ResourceDocs.changed}. */
export interface ChangeExample {
  readonly summary: string;
  /** The body of the change. */
  readonly body: object;
  /** The members besides the id after the change. */
  readonly content: object;
}

type Examples<Value> = Readonly<Record<string, Value>>;

/**
 * What the documentation says of a resource. Requests with the examples succeed if they are sent in the order of the
 * document: create, look up, replace, change and remove.
 */
export interface ResourceDocs {
  /** With an article, such as `a plant` or `an apple`. */
  readonly one: string;
  /** Such as `plants`: the path, and the tag of the operations. */
  readonly plural: string;
  /** The ends of the operation ids `createPlant` and `listPlants`. */
  readonly operationIds: readonly [one: string, many: string];
  readonly created: Type;
  /** What a create answers, if that is not all members. It has no id. */
  readonly answer?: Type;
  /** With all members. */
  readonly stored: Type;
  readonly replacement: Type;
  readonly patch: Type;
  /** `idTaken` and `noSuch` are failures of the feature. */
  readonly errors: {
    readonly idTaken: ErrorKind;
    readonly noSuch: ErrorKind;
    /** Further failures of creates and changes. */
    readonly others?: readonly ErrorKind[];
  };
  readonly examples: Examples<Example>;
  /** The id of the example that is replaced, changed and removed. */
  readonly changed: number;
  readonly replacements: Examples<ChangeExample>;
  readonly patches: Examples<ChangeExample>;
  /** Two rows to import, and the beginning of a line that is refused because members are missing. */
  readonly imported: readonly [object, object];
  readonly refused: { readonly body: readonly [object, object]; readonly message: string };
}

/** The decorators of the operations of a resource. */
export function apiOperations(docs: ResourceDocs) {
  const { one, plural, stored, replacement, patch, errors } = docs;
  const { others: further = [] } = errors;
  const noun = one.replace(/^an? /, '');
  const [single, many] = docs.operationIds;
  const operation = (operationId: string, summary: string, description: string) =>
    ApiOperation({ operationId, tags: [plural], summary, description });
  const entityTag = {
    ETag: {
      description: `The entity tag of the ${noun}, for \`If-Match\` and \`If-None-Match\` (RFC 9110, section 8.8.3).`,
      schema: { type: 'string' as const },
    },
  };
  const ifMatch = ApiHeader({
    name: 'If-Match',
    required: false,
    description: `Changes the ${noun} only if it still has one of these entity tags, otherwise the request fails with 412. \`*\` stands for any tag.`,
    schema: ENTITY_TAGS_SCHEMA,
  });
  const idParameter = ApiParam({
    name: 'id',
    description: `Identification number of the ${noun}, in canonical decimal form.`,
    schema: { ...INT64_SCHEMA, example: docs.changed },
  });
  const idErrors = [[ERRORS.parameterNotValid, int64ParameterRule('id')]] as const;
  const changeErrors = [...idErrors, errors.noSuch, ERRORS.preconditionFailed] as const;
  const bodyErrors = [ERRORS.malformedJson, ERRORS.bodyMissing, ERRORS.bodyTooLarge] as const;
  const changed = (changes: Examples<ChangeExample>) =>
    examplesOf(changes, ({ content }) => ({ id: docs.changed, ...content }));

  return {
    create(): MethodDecorator {
      const [first] = Object.values(docs.examples);
      return applyDecorators(
        operation(
          `create${single}`,
          `Create ${one}`,
          `Creates ${one.replace(' ', ' new ')} in the store. Creating the same ${noun} again, with the same id and content, succeeds and changes nothing, so a request whose answer was lost can be sent again. If the id belongs to ${one} with other content, the request fails and the stored ${noun} does not change. Members that ${schemaName(docs.created)} does not define are ignored.`,
        ),
        ApiBody({
          type: docs.created,
          required: true,
          description: `${capital(noun)} to add to the store.`,
          examples: examplesOf(docs.examples, withId),
        }),
        ApiOkResponse({
          type: docs.answer ?? stored,
          description: `The ${noun} is stored.`,
          examples: examplesOf(
            docs.examples,
            docs.answer === undefined ? withId : ({ content }) => content,
          ),
          links: {
            [`get${single}`]: {
              operationId: `get${single}`,
              parameters: { id: '$request.body#/id' },
              description: `The ${noun} that was created.`,
            },
          },
        }),
        ApiErrors(
          [
            ERRORS.malformedJson,
            'the body is not valid JSON: the member "id" occurs twice, with different values',
          ],
          ERRORS.bodyMissing,
          [ERRORS.bodyNotValid, `${int64Rule('id')}; name must be a string`],
          [errors.idTaken, `id ${first?.id} belongs to ${one} with other content`],
          ERRORS.bodyTooLarge,
          ...further,
          unsupported(['application/json'], 'Accept-Post'),
        ),
      );
    },

    get(): MethodDecorator {
      return applyDecorators(
        operation(
          `get${single}`,
          `Get ${one} by its id`,
          `The examples look up the ${plural} that the examples of create${single} create.`,
        ),
        ApiParam({
          name: 'id',
          description: `Identification number of the ${noun}, between ${MIN_INT64} and ${MAX_INT64}, in canonical decimal form.`,
          schema: INT64_SCHEMA,
          examples: examplesOf(docs.examples, ({ id }) => id),
        }),
        ApiHeader({
          name: 'If-None-Match',
          required: false,
          description: `Entity tags that the client has. If the ${noun} still has one of them, the answer is 304, without a body.`,
          schema: ENTITY_TAGS_SCHEMA,
        }),
        ApiOkResponse({
          type: stored,
          description: `The ${noun} with this id.`,
          headers: entityTag,
          examples: examplesOf(docs.examples, withId),
        }),
        ApiNotModifiedResponse({
          description: `The client has the ${noun} as it is stored.`,
          headers: entityTag,
        }),
        ApiErrors(...idErrors, [errors.noSuch, `there is no ${noun} with id 404`]),
      );
    },

    list(): MethodDecorator {
      const [first, ...others] = Object.values(docs.examples);
      const page = [first!, ...others.filter(({ id }) => id === docs.changed)];
      return applyDecorators(
        operation(
          `list${many}`,
          `List ${plural}`,
          `Returns ${plural} in ascending order of their ids. If there are more, the \`Link\` header field leads to the next page. A parameter that is unknown or given twice is refused.`,
        ),
        ApiOkResponse({
          type: stored,
          isArray: true,
          description: `A page of ${plural}.`,
          headers: {
            Link: {
              description: `The next page with the same filters: \`</${plural}?limit=50&after=1002>; rel="next"\`. The last page has no such field (RFC 8288).`,
              schema: { type: 'string' },
            },
          },
          examples: {
            page: { summary: `A page of ${plural}`, value: page.map(withId) },
          },
        }),
        ApiErrors(
          [ERRORS.parameterNotValid, 'limit must be an integer between 1 and 1000'],
          ERRORS.searchTooSlow,
        ),
      );
    },

    replace(): MethodDecorator {
      return applyDecorators(
        operation(
          `replace${single}`,
          `Replace ${one}`,
          `Replaces all members of a stored ${noun}, except its id. Does not create ${one}.`,
        ),
        idParameter,
        ifMatch,
        ApiBody({
          type: replacement,
          required: true,
          description: 'The new content.',
          examples: examplesOf(docs.replacements, ({ body }) => body),
        }),
        ApiOkResponse({
          type: stored,
          // RFC 9110, section 9.3.4.
          description: `The ${noun} as it is stored now. For its entity tag, look it up.`,
          examples: changed(docs.replacements),
        }),
        ApiErrors(
          [ERRORS.bodyNotValid, `id must be the id in the path, ${docs.changed}`],
          ...bodyErrors,
          ...changeErrors,
          ...further,
          unsupported(['application/json'], 'Accept'),
        ),
      );
    },

    patch(
      description = 'Applies a JSON Merge Patch (RFC 7396): changes the members that the body has. `null` removes a member.',
    ): MethodDecorator {
      return applyDecorators(
        operation(`patch${single}`, `Change members of ${one}`, description),
        idParameter,
        ifMatch,
        ApiConsumes(...PATCH_TYPES),
        ApiBody({
          type: patch,
          required: true,
          description: 'The members to change.',
          examples: examplesOf(docs.patches, ({ body }) => body),
        }),
        ApiOkResponse({
          type: stored,
          description: `The ${noun} as it is stored now.`,
          headers: entityTag,
          examples: changed(docs.patches),
        }),
        ApiErrors(
          [ERRORS.bodyNotValid, 'name must be a string'],
          ...bodyErrors,
          ...changeErrors,
          ...further,
          unsupported(PATCH_TYPES, 'Accept-Patch'),
        ),
      );
    },

    remove(): MethodDecorator {
      return applyDecorators(
        operation(`delete${single}`, `Remove ${one}`, `Removes ${one}. Its id is free afterwards.`),
        idParameter,
        ifMatch,
        ApiNoContentResponse({ description: `The ${noun} is removed.` }),
        ApiErrors(...changeErrors),
      );
    },

    import(): MethodDecorator {
      return applyDecorators(
        operation(
          `import${many}`,
          `Import ${plural}`,
          `Creates ${one} for each line of the body, which is a ${schemaName(stored)} in JSON. A line that is refused does not stop the others. The answer arrives while the body is sent: a line for each refused line, and at the end a summary. There are no parameters; a request with any is refused.\n\nAn import without a summary is incomplete. If it cannot go on, an Error takes the place of the summary. An import can be sent again: ${plural} that are stored with the same content count as unchanged.`,
        ),
        ApiConsumes(NDJSON),
        ApiBody({
          required: false,
          description: `${capital(plural)}, each on a line of its own, or none. Blank lines are skipped. The limit on the length of a body applies to each line, and the body can have any length.`,
          schema: { type: 'string' },
          examples: {
            [plural]: { summary: `Two ${plural}`, value: ndjson(...docs.imported) },
            'refused-line': {
              summary: 'A line that is refused',
              value: ndjson(...docs.refused.body),
            },
          },
        }),
        ApiOkResponse({
          description: `Lines of JSON. For each refused line of the body \`{"line", "error", "message"}\`: its number from 1, and the members of an Error. At the end \`{"created", "unchanged", "refused"}\`: how many ${plural} are stored now, were stored before, and how many lines were refused. If the import could not go on, the last line is an Error without \`line\`.`,
          content: {
            [NDJSON]: {
              schema: { type: 'string' },
              examples: {
                [plural]: {
                  summary: `Two ${plural}`,
                  value: ndjson({ created: 2, unchanged: 0, refused: 0 }),
                },
                'refused-line': {
                  summary: 'A line that is refused',
                  value: ndjson(
                    { line: 2, error: ERRORS.bodyNotValid.number, message: docs.refused.message },
                    { created: 1, unchanged: 0, refused: 1 },
                  ),
                },
              },
            },
          },
        }),
        ApiErrors(
          [ERRORS.parameterNotValid, 'there is no parameter "dry_run"'],
          unsupported([NDJSON], 'Accept-Post'),
          ERRORS.tooManyImports,
        ),
      );
    },

    export(): MethodDecorator {
      return applyDecorators(
        operation(
          `export${many}`,
          `Export ${plural}`,
          `Returns all ${plural} that match, each on a line of its own, in ascending order of their ids, and an empty line at the end. An export without the empty line is incomplete, even if the connection has not broken: \`after\` with the last id continues it. The answer can be imported. ${capital(plural)} that change meanwhile appear with their old or their new content.`,
        ),
        ApiOkResponse({
          description: `The ${plural}. Each line is a ${schemaName(stored)} in JSON. The last line is empty.`,
          content: {
            [NDJSON]: {
              schema: { type: 'string' },
              examples: {
                [plural]: { summary: `Two ${plural}`, value: `${ndjson(...docs.imported)}\n` },
              },
            },
          },
        }),
        ApiErrors(
          [ERRORS.parameterNotValid, int64ParameterRule('after')],
          ERRORS.searchTooSlow,
          ERRORS.tooManySearches,
          ERRORS.tooManyExports,
        ),
      );
    },
  };
}

function withId({ id, content }: Example): object {
  return { id, ...content };
}

function examplesOf<Value extends { readonly summary: string }>(
  examples: Examples<Value>,
  valueOf: (example: Value) => unknown,
) {
  return Object.fromEntries(
    Object.entries(examples).map(([name, example]) => [
      name,
      { summary: example.summary, value: valueOf(example) },
    ]),
  );
}

function unsupported(types: readonly string[], field: string) {
  return [
    ERRORS.unsupportedMediaType,
    `the body must be ${types.join(' or ')} in UTF-8, without Content-Encoding; the request has Content-Type "text/plain"`,
    [field],
  ] as const;
}

/** The name of the schema of a DTO, if `@ApiSchema()` gives it the name of the class without `Dto`. */
function schemaName(dto: Type): string {
  return dto.name.replace(/Dto$/, '');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function ndjson(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}
