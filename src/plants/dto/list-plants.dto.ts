import {
  ExportOf,
  ListOf,
  MAX_FILTER_BYTES,
  NoOtherParameters,
  TextParameter,
} from '@resource-service/framework';
import { Plant } from '../plant.entity.js';

/** Shorter texts have no trigram. */
const MIN_NAME = 3;

/** The time that PostgreSQL takes to compare grows with the length of the text, and it heeds no timeout within a row. */
const MAX_NAME = 200;

@NoOtherParameters()
export class ListPlantsDto extends ListOf(Plant) {
  @TextParameter({
    description: `Only plants with exactly this tag. \`tag\` and \`name\` together have at most ${MAX_FILTER_BYTES} bytes, percent-encoded.`,
  })
  readonly tag?: string;

  @TextParameter({
    minLength: MIN_NAME,
    maxLength: MAX_NAME,
    description: `Only plants whose name contains this text, in upper or lower case, in its first 4,000 characters. ${MIN_NAME} to ${MAX_NAME} characters.`,
  })
  readonly name?: string;
}

@NoOtherParameters()
export class ExportPlantsDto extends ExportOf(ListPlantsDto) {}
