import { NoOtherParameters } from '../../http/dto.pipe.js';
import { NameFilter, TagFilter } from './list-parameters.js';

@NoOtherParameters()
export class PlantFilterDto {
  @TagFilter()
  readonly tag?: string;

  @NameFilter()
  readonly name?: string;
}
