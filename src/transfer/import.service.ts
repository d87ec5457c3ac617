import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { ERRORS } from '../errors/common-errors.js';
import { driverFailure, isCausedByRow } from '../database/database-failure.js';
import { Slots } from '../database/slots.js';
import type { ErrorDto } from '../http/errors/error.dto.js';
import { toAnswer } from '../http/errors/to-answer.js';
import type { Line } from '../http/body/body-lines.js';
import { lineToDto, toLine } from '../http/body/ndjson.js';
import { LOGGER } from '../observability/logger.js';
import { TRACER } from '../observability/tracer.js';
import type { Tracer } from '../observability/tracer.js';
import { NewPlantDto } from '../plants/dto/new-plant.dto.js';
import type { Stored } from '../plants/plants.repository.js';
import { PlantsService } from '../plants/plants.service.js';
import { inOrder } from './in-order.js';
import type { Window } from './in-order.js';
import { retried } from './retried.js';

const MAX_IMPORTS = 8;

/**
 * The lines of an import that wait for the database at once. Single creates wait behind them, so there are fewer while
 * single creates arrive. All imports fill half of the queue.
 */
const WINDOW = { items: 64, besideCreates: 16, bytes: 1024 * 1024 };

/** How long a single create counts as arriving, in milliseconds. */
const RECENT = 1_000;

interface RefusedLine extends ErrorDto {
  readonly line: number;
}

/** A plant that is being stored. */
interface Storing {
  readonly plant: NewPlantDto;
  readonly stored: Promise<Stored>;
}

/** The last plant with each id that is being stored. */
type StoringById = Map<bigint, Storing>;

/** Creates the plants of a whole file. */
@Injectable()
export class ImportService {
  private readonly slots = new Slots(MAX_IMPORTS, ERRORS.tooManyImports);
  private readonly window: Window<Line> = {
    items: () => (this.plants.sinceCreate < RECENT ? WINDOW.besideCreates : WINDOW.items),
    size: WINDOW.bytes,
    sizeOf: ({ length }) => length,
  };

  constructor(
    private readonly plants: PlantsService,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Creates a plant for each line, through the same groups as single creates. Of lines with the same id, the first wins.
   * The statements do not appear in traces, because there can be thousands.
   *
   * @returns the lines of the answer, several at a time: each refused line, and at the end a summary
   * @throws PlantStoreError if the import cannot go on
   */
  async *run(
    lines: AsyncIterable<readonly Line[]>,
    clientGone: AbortSignal,
  ): AsyncGenerator<string> {
    const giveBack = this.slots.take();
    const storing: StoringById = new Map();
    const summary = { created: 0, unchanged: 0, refused: 0 };
    const create = (line: Line) => this.create(line, storing, clientGone);
    try {
      for await (const results of inOrder(lines, this.window, create, clientGone)) {
        let refused = '';
        for (const result of results) {
          if (typeof result !== 'string') refused += toLine(result);
          summary[typeof result === 'string' ? result : 'refused'] += 1;
        }
        if (refused !== '') yield refused;
      }
    } catch (error) {
      if (!clientGone.aborted) throw error;
    } finally {
      giveBack();
    }
    yield toLine(summary);
  }

  private async create(
    line: Line,
    storing: StoringById,
    clientGone: AbortSignal,
  ): Promise<Stored | RefusedLine> {
    try {
      const plant = lineToDto(NewPlantDto, line);
      const current = { plant, stored: this.storeAfter(storing.get(plant.id), plant, clientGone) };
      storing.set(plant.id, current);
      try {
        return await current.stored;
      } finally {
        if (storing.get(plant.id) === current) storing.delete(plant.id);
      }
    } catch (error) {
      const isOfRow = isCausedByRow(driverFailure(error));
      const { status, body } = toAnswer(error);
      if (status >= 500 && !isOfRow) throw error;
      if (isOfRow) this.logger.error({ err: driverFailure(error) }, 'the database refused a line');
      return { line: line.number, error: body.error, message: body.message };
    }
  }

  private async storeAfter(
    earlier: Storing | undefined,
    plant: NewPlantDto,
    clientGone: AbortSignal,
  ): Promise<Stored> {
    if (earlier !== undefined && isSame(earlier.plant, plant)) {
      await earlier.stored;
      return 'unchanged';
    }
    await earlier?.stored.catch(() => {});
    const store = () => this.tracer.serving([], () => this.plants.store(plant));
    return retried(clientGone, store);
  }
}

function isSame(one: NewPlantDto, other: NewPlantDto): boolean {
  return one.name === other.name && one.tag === other.tag;
}
