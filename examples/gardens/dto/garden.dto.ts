import { ApiSchema } from '@nestjs/swagger';
import {
  BodyTypes,
  DtoOf,
  ExportOf,
  ListOf,
  NewOf,
  NoOtherParameters,
  PATCH_TYPES,
  PatchOf,
  ReplacementOf,
} from '@resource-service/framework';
import { Garden } from '../garden.entity.js';
// #region plants
import { Int64Parameter } from '@resource-service/framework';
// #endregion

@ApiSchema({ name: 'NewGarden', description: 'A garden to create.' })
export class NewGardenDto extends NewOf(Garden) {}

@ApiSchema({ name: 'StoredGarden', description: 'A garden with its id.' })
export class StoredGardenDto extends DtoOf(Garden) {}

@ApiSchema({ name: 'GardenReplacement', description: 'The new content of a garden.' })
export class GardenReplacementDto extends ReplacementOf(Garden) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'GardenPatch',
  description: 'The fields to change. Fields that are absent stay as they are.',
})
export class GardenPatchDto extends PatchOf(Garden) {}

@NoOtherParameters()
export class ListGardensDto extends ListOf(Garden) {
  // #region plants
  @Int64Parameter('Only gardens with this plant.')
  readonly plantId?: bigint;
  // #endregion
}

@NoOtherParameters()
export class ExportGardensDto extends ExportOf(ListGardensDto) {}
