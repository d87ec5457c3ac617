import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import type { StreamableFile } from '@nestjs/common';
import type { Line } from '../http/body-lines.js';
import { NdjsonLines, streamLines } from '../http/ndjson.js';
import { ExportPlantsDto } from './dto/export-plants.dto.js';
import { ExportService } from './export.service.js';
import { ImportService } from './import.service.js';
import { ApiExportPlants, ApiImportPlants } from './transfer.openapi.js';

@Controller('plants')
export class TransferController {
  constructor(
    private readonly imports: ImportService,
    private readonly exports: ExportService,
  ) {}

  @Post('import')
  @HttpCode(200)
  @ApiImportPlants()
  import(@NdjsonLines() lines: AsyncIterable<Line>): StreamableFile {
    return streamLines(this.imports.run(lines));
  }

  @Get('export')
  @ApiExportPlants()
  export(@Query() query: ExportPlantsDto): StreamableFile {
    return streamLines(this.exports.run(query));
  }
}
