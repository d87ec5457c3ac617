import { Injectable } from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import { parsePlantId } from './plant-id.js';

/** The `id` of a path, from its raw text. */
@Injectable()
export class PlantIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    return parsePlantId(text);
  }
}
