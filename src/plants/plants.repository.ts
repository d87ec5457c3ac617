import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { Plant } from './plant.entity.js';

/** The statements on the table `plants`. */
@Injectable()
export class PlantsRepository {
  constructor(private readonly database: Database) {}

  /** Stores the plant unless its id is taken; says whether it did. Atomic: one of two equal ids wins. */
  insertIfAbsent(plant: Plant): Promise<boolean> {
    return this.database.transaction(async (manager) => {
      const { raw } = await manager
        .createQueryBuilder()
        .insert()
        .into(Plant)
        .values(plant)
        .orIgnore()
        .returning('id')
        .execute();
      return (raw as unknown[]).length === 1;
    });
  }

  findById(id: bigint): Promise<Plant | null> {
    return this.database.transaction((manager) => manager.findOneBy(Plant, { id }));
  }
}
