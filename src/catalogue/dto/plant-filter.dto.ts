import { NoOtherParameters } from '../../http/body/dto.pipe.js';
import { NameFilter, TagFilter } from './list-parameters.js';

@NoOtherParameters()
export class PlantFilterDto {
  @TagFilter()
  readonly tag?: string;

  @NameFilter()
  readonly name?: string;
}
