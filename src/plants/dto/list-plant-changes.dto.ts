import { NoOtherParameters } from '../../http/body/dto.pipe.js';
import { Int64Parameter, Limit } from '../../resources/page-parameters.js';

@NoOtherParameters()
export class ListPlantChangesDto {
  @Limit()
  readonly limit: number = 50;

  @Int64Parameter(
    'Only changes with a greater position: the last position that was received. Without it, the oldest change comes first.',
  )
  readonly after?: bigint;

  @Int64Parameter('Only changes of the plant with this id.')
  readonly plant?: bigint;
}
