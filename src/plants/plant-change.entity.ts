import { Entity, Index } from 'typeorm';
import { ChangeOf } from '@resource-service/changes';
import { Plant } from './plant.entity.js';

/** A record of a change of a plant. */
@Index('plant_changes_id_position_idx', ['id', 'position'])
@Entity('plant_changes')
export class PlantChange extends ChangeOf(Plant) {}
