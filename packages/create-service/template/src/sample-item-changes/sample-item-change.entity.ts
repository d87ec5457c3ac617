import { ChangeOf } from '@resource-service/changes';
import { Entity, Index } from 'typeorm';
import { SampleItem } from '../sample-items/sample-item.entity.js';

/** A record of a change of a sample item. */
@Index('sample_item_changes_id_position_idx', ['id', 'position'])
@Entity('sample_item_changes')
export class SampleItemChange extends ChangeOf(SampleItem) {}
