import { Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import type { StreamableFile } from '@nestjs/common';
import type { Line } from '../http/body/body-lines.js';
import { ClientGone } from '../http/answers/client-gone.js';
import { NoParametersDto } from '../http/body/dto.pipe.js';
import { LinesFile, NdjsonLines } from '../http/body/ndjson.js';
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
  import(
    @Query() _query: NoParametersDto,
    @NdjsonLines() lines: AsyncIterable<readonly Line[]>,
    @ClientGone() clientGone: AbortSignal,
  ): StreamableFile {
    return new LinesFile(this.imports.run(lines, clientGone), true);
  }

  @Get('export')
  @ApiExportPlants()
  export(@Query() query: ExportPlantsDto, @ClientGone() clientGone: AbortSignal): StreamableFile {
    return new LinesFile(this.exports.run(query, clientGone), false);
  }
}
