import { ApiSchema } from '@nestjs/swagger';
import { BodyTypes, DtoOf, PATCH_TYPES, PatchOf, ReplacementOf } from '@resource-service/framework';
import { Plant } from '../plant.entity.js';

/* Plant and NewPlant are published (`contract/`), so they name their members. The others have all members of the entity. */

@ApiSchema({ name: 'Plant', description: 'A plant without its id, as createPlant returns it.' })
export class PlantDto extends DtoOf(Plant, ['name', 'tag']) {}

@ApiSchema({ name: 'NewPlant', description: 'A plant to create.' })
export class NewPlantDto extends DtoOf(Plant, ['id', 'name', 'tag']) {}

@ApiSchema({ name: 'StoredPlant', description: 'A plant with its id.' })
export class StoredPlantDto extends DtoOf(Plant) {}

@ApiSchema({ name: 'PlantReplacement', description: 'The new content of a plant.' })
export class PlantReplacementDto extends ReplacementOf(Plant) {}

@BodyTypes(...PATCH_TYPES)
@ApiSchema({
  name: 'PlantPatch',
  description: 'The members to change. Members that are absent stay as they are.',
})
export class PlantPatchDto extends PatchOf(Plant) {}
