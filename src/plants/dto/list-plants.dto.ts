import { ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { NoOtherParameters } from '../../http/body/dto.pipe.js';
import { IfPresent } from '../../resources/member.js';
import { AreFiltersShort, ListParameters, MAX_FILTERS } from '../../resources/page-parameters.js';
import { HasLength, IsStorableText } from '../../resources/text.js';

/** Shorter texts have no trigram. */
const MIN_NAME = 3;

/** The time that PostgreSQL takes to compare grows with the length of the text, and it heeds no timeout within a row. */
const MAX_NAME = 200;

@NoOtherParameters()
export class ListPlantsDto extends ListParameters {
  @ApiPropertyOptional({
    type: 'string',
    description: `Only plants with exactly this tag. \`tag\` and \`name\` together have at most ${MAX_FILTERS} bytes, percent-encoded.`,
  })
  @IfPresent()
  @IsStorableText()
  @AreFiltersShort()
  readonly tag?: string;

  @ApiPropertyOptional({
    type: 'string',
    minLength: MIN_NAME,
    maxLength: MAX_NAME,
    description: `Only plants whose name contains this text, in upper or lower case, in its first 4,000 characters. ${MIN_NAME} to ${MAX_NAME} characters.`,
  })
  @IfPresent()
  @IsStorableText()
  @HasLength(MIN_NAME, MAX_NAME)
  @AreFiltersShort()
  readonly name?: string;
}

@NoOtherParameters()
export class ExportPlantsDto extends OmitType(ListPlantsDto, ['limit']) {}
