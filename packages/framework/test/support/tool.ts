import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ERRORS } from '../../src/errors/common-errors.js';
import type { ErrorKind } from '../../src/errors/error-kind.js';
import { BodyTypes } from '../../src/http/body/dto.pipe.js';
import { PATCH_TYPES } from '../../src/http/body/json-body.js';
import { DtoOf, PatchOf, ReplacementOf } from '../../src/resources/properties/dto-of.js';
import { INT64_COLUMN, Int64Field } from '../../src/resources/properties/int64.js';
import { TextField } from '../../src/resources/properties/text.js';

/** A resource with a member that is optional. */
@Entity('tools')
export class Tool {
  @PrimaryColumn(INT64_COLUMN)
  @Int64Field({ description: 'Identification number of the tool.', example: 7 })
  readonly id!: bigint;

  @Column('text')
  @TextField({ description: 'The name of the tool.', example: 'Hammer' })
  readonly name!: string;

  @Column('text', { nullable: true })
  @TextField({ description: 'What the tool is for.', example: 'wood', isOptional: true })
  readonly tag!: string | null;
}

export class ToolDto extends DtoOf(Tool) {}

export class ToolReplacementDto extends ReplacementOf(Tool) {}

@BodyTypes(...PATCH_TYPES)
export class ToolPatchDto extends PatchOf(Tool) {}

/** Not defined, so that the errors of a service that runs in the same process stay its own. */
export const TOOL_ERRORS = {
  idTaken: {
    code: 'id-taken',
    number: 40980,
    message: 'the id belongs to another tool',
    remedy: 'Choose another id',
    isTemporary: false,
  },
  noSuchTool: {
    code: 'no-such-tool',
    number: 40480,
    message: 'there is no tool with this id',
    remedy: 'Create the tool, or check the id',
    isTemporary: false,
  },
} as const satisfies Record<string, ErrorKind>;

/** The failures of the framework and of a resource. */
export const ALL_ERRORS: readonly ErrorKind[] = [
  ...Object.values(ERRORS),
  ...Object.values(TOOL_ERRORS),
];
