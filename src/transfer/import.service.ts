import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { driverFailure, isCausedByRow } from '../database/database-failure.js';
import { Slots } from '../database/slots.js';
import { PlantStoreError } from '../errors/plant-store.error.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { toAnswer } from '../errors/to-answer.js';
import type { Line } from '../http/body-lines.js';
import { lineToDto, toLine } from '../http/ndjson.js';
import { LOGGER } from '../observability/logger.js';
import { NewPlantDto } from '../plants/dto/new-plant.dto.js';
import type { Stored } from '../plants/plants.repository.js';
import { PlantsService } from '../plants/plants.service.js';
import { inOrder } from './in-order.js';
import { retried } from './retried.js';

const MAX_IMPORTS = 8;

/** The lines of an import that wait for the database at once; size in bytes. All imports fill half of the queue. */
const WINDOW = { items: 64, size: 1024 * 1024, sizeOf: ({ length }: Line) => length };

interface RefusedLine extends ErrorDto {
  readonly line: number;
}

/** The ids of an import that are being stored. */
type Turns = Map<bigint, Promise<Stored>>;

/** Creates the plants of a whole file. */
@Injectable()
export class ImportService {
  private readonly slots = new Slots(MAX_IMPORTS, 'too many imports are running');

  constructor(
    private readonly plants: PlantsService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Creates a plant for each line, through the same groups as single creates. Of lines with the same id, the first wins.
   *
   * @returns the lines of the answer: each refused line, and at the end a summary. If the import cannot go on, an Error
   * takes the place of the summary
   * @throws PlantStoreError if the import cannot go on, and no line was refused yet
   */
  async *run(lines: AsyncIterable<Line>): AsyncGenerator<string> {
    const giveBack = this.slots.take();
    const turns: Turns = new Map();
    const summary = { created: 0, unchanged: 0, refused: 0 };
    try {
      for await (const result of inOrder(lines, WINDOW, (line) => this.store(line, turns))) {
        if (typeof result === 'string') {
          summary[result] += 1;
        } else {
          summary.refused += 1;
          yield toLine(result);
        }
      }
    } catch (error) {
      const failure = driverFailure(error);
      if (summary.refused === 0 || !(failure instanceof PlantStoreError)) throw error;
      const { body } = toAnswer(failure);
      this.logger.warn({ error: body.error }, 'an import ended early');
      yield toLine(body);
      return;
    } finally {
      giveBack();
    }
    yield toLine(summary);
  }

  private async store(line: Line, turns: Turns): Promise<Stored | RefusedLine> {
    try {
      const plant = lineToDto(NewPlantDto, line);
      const turn = this.storeAfter(turns.get(plant.id), plant);
      turns.set(plant.id, turn);
      try {
        return await turn;
      } finally {
        if (turns.get(plant.id) === turn) turns.delete(plant.id);
      }
    } catch (error) {
      const { status, body } = toAnswer(error);
      if (status >= 500 && !isCausedByRow(driverFailure(error))) throw error;
      return { line: line.number, error: body.error, message: body.message };
    }
  }

  private async storeAfter(
    earlier: Promise<Stored> | undefined,
    plant: NewPlantDto,
  ): Promise<Stored> {
    await earlier?.catch(() => {});
    return retried(() => this.plants.store(plant));
  }
}
