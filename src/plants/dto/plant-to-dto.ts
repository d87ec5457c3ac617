import type { Plant } from '../plant.entity.js';
import type { PlantDto } from './plant.dto.js';
import type { StoredPlantDto } from './stored-plant.dto.js';

/** Omits the tag if it is null. */
export function toPlantDto({ name, tag }: Plant): Pick<PlantDto, 'name' | 'tag'> {
  return tag === null ? { name } : { name, tag };
}

export function toStoredPlantDto(plant: Plant): StoredPlantDto {
  return { id: plant.id, ...toPlantDto(plant) };
}
