import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { EventStream } from '../http/answers/event-stream.js';
import type { Page } from '../http/answers/page.js';
import type { Followers } from '../resources/history/followers.js';
import { Resources } from '../resources/resources.js';
import type { LatestPositionDto } from './dto/plant-change.dto.js';
import type { ListPlantChangesDto } from './dto/list-plant-changes.dto.js';
import { PlantsService } from './plants.service.js';

@Injectable()
export class PlantChangesService {
  private readonly followers: Followers;

  constructor(
    resources: Resources,
    private readonly plants: PlantsService,
  ) {
    this.followers = resources.followersOf('plants', plants.history);
  }

  /** @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-lists` */
  list(query: ListPlantChangesDto): Promise<Page<ListPlantChangesDto>> {
    return this.plants.history.list(query, query.plant);
  }

  async latest(): Promise<LatestPositionDto> {
    const { lowWatermark } = await this.plants.history.startOf(undefined);
    return { position: lowWatermark };
  }

  /**
   * Sends changes until the client leaves, its token is no longer valid, or the service shuts down.
   *
   * @param last the position that the client has received last; has priority over the query
   * @throws ServiceException `changes-pruned`, `position-unknown`, `too-many-followers`
   */
  async follow(
    { after, plant }: ListPlantChangesDto,
    last: bigint | undefined,
    principal: Principal,
    signal: AbortSignal,
  ): Promise<EventStream> {
    const events = await this.followers.follow({
      principal,
      after: last ?? after,
      id: plant,
      signal,
    });
    return new EventStream(events);
  }
}
