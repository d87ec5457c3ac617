import type { Type } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { ApiPropertyOptions } from '@nestjs/swagger';
import {
  INT64_SCHEMA,
  Int64Parameter,
  NoOtherParameters,
  UuidParameter,
} from '@resource-service/framework';
import { LimitParameter, UUID_SCHEMA } from '@resource-service/framework/extension';
import type { ChangeParameters } from './feed.js';

/** What the documentation of a feed needs to know of its resource. */
export interface FeedDocs {
  /** Such as `changes`: the path and the tag of the operations. */
  readonly path: string;
  /** With its article, such as `a tool`. */
  readonly one: string;
  /** Without it. */
  readonly noun: string;
  readonly plural: string;
  /** The name of the content in a change, and of the parameter that selects the changes of one row, such as `tool`. */
  readonly property: string;
  /** The class of the content. */
  readonly stored: Type;
  /** The name of the schema of a change, such as `ToolChange`. */
  readonly schema: string;
  readonly operationIds: readonly [list: string, latest: string];
  /** A row. */
  readonly example: { readonly id: number | string } & Readonly<Record<string, unknown>>;
}

/**
 * A row with the examples of the properties of a class, as `@ApiProperty()` keeps them.
 *
 * @throws TypeError if the property `id` has none
 */
export function exampleOf({ prototype, name: className }: Type): FeedDocs['example'] {
  const row = prototype as object;
  const names = Reflect.getMetadata('swagger/apiModelPropertiesArray', row) as
    readonly string[] | undefined;
  const entries = (names ?? []).map((each) => {
    const name = each.slice(1);
    const { example } = Reflect.getMetadata('swagger/apiModelProperties', row, name) as {
      readonly example?: unknown;
    };
    return [name, example] as const;
  });
  const example: Readonly<Record<string, unknown>> = Object.fromEntries(entries);
  if (example['id'] === undefined) {
    throw new TypeError(
      `${className}.id has no example in @ApiProperty(): give the feed an example`,
    );
  }
  return example as FeedDocs['example'];
}

const KINDS = ['created', 'replaced', 'removed'] as const;

@ApiSchema({ name: 'Principal', description: 'Who has sent a request.' })
class PrincipalDto {
  @ApiProperty({
    type: 'string',
    description:
      'The kind of its token: `static-token`, `issued-token`, `jwt`, or another kind of this service. `system`: a job of the service.',
    example: 'static-token',
  })
  readonly kind!: string;

  @ApiProperty({
    type: 'string',
    description:
      'The id of an issued token, the subject of a JWT (without one, `client_id:` and its client), or the name of the variable of a static token. Of a job: its name.',
    example: 'AUTH_TOKEN',
  })
  readonly id!: string;
}

@ApiSchema({ name: 'LatestPosition', description: 'The position of the newest change.' })
export class LatestPositionDto {
  @ApiProperty({
    ...INT64_SCHEMA,
    description:
      'Changes after this position are newer than this response. 0 if there is none yet.',
    example: 2,
  })
  readonly position!: bigint;
}

/** The class of a record of a change, for its schema: records are written as text. */
export function changeDto({ one, noun, property, schema, stored, example }: FeedDocs): Type {
  const properties: Readonly<Record<string, ApiPropertyOptions>> = {
    position: {
      ...INT64_SCHEMA,
      description: 'Greater than the positions of all changes before.',
      example: 1,
    },
    time: {
      type: 'string',
      format: 'date-time',
      description: 'When the change began. Changes with greater positions can have earlier times.',
    },
    kind: { enum: KINDS, description: `What has happened to the ${noun}.` },
    id: {
      ...(typeof example.id === 'string' ? UUID_SCHEMA : INT64_SCHEMA),
      description: `${typeof example.id === 'string' ? 'The id' : 'Identification number'} of the ${noun}.`,
      example: example.id,
    },
    [property]: {
      type: () => stored,
      required: false,
      description: `The ${noun} after the change. Absent if it was removed.`,
    },
    principal: { type: () => PrincipalDto, description: 'Who has made the change.' },
    requestId: {
      type: 'string',
      description: 'The `X-Request-Id` of the request that has made the change.',
      example: 'b3b0c1a4-6a0e-4a53-9d43-8f6a3b1f0c11',
    },
  };
  @ApiSchema({ name: schema, description: `A record of a change of ${one}.` })
  class ChangeDto {}
  for (const [name, options] of Object.entries(properties)) {
    ApiProperty(options)(ChangeDto.prototype, name);
  }
  return ChangeDto;
}

/** The class of {@link ChangeParameters}. The parameter with the name of the content is the id of a row. */
export function listChangesDto({ noun, property, example }: FeedDocs): Type<ChangeParameters> {
  @NoOtherParameters()
  class ListChangesDto {
    @LimitParameter()
    readonly limit: number = 50;

    @Int64Parameter(
      'Only changes with a greater position: the last position that was received. Without it, the oldest change comes first.',
    )
    readonly after?: bigint;
  }
  const IdParameter = typeof example.id === 'string' ? UuidParameter : Int64Parameter;
  IdParameter(`Only changes of the ${noun} with this id.`)(ListChangesDto.prototype, property);
  // Behind it: commands of earlier releases take the first parameter that they do not know for the id.
  Int64Parameter(
    'Go on past changes without a record, up to this position: the one that the message of 41000 names. Without `after`, the oldest record that is kept comes first.',
  )(ListChangesDto.prototype, 'acceptGap');
  return ListChangesDto;
}
