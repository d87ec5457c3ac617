import 'reflect-metadata';
import {
  Body,
  Controller,
  DefaultValuePipe,
  Get,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  UnauthorizedException,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import type { Request } from 'express';
import { Column, Entity, MoreThan, PrimaryColumn, Repository } from 'typeorm';
import { announce } from './announce.js';

/* A service as in the documentation of NestJS. */

class CreatePlantDto {
  @IsInt()
  readonly id!: number;

  @IsString()
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly tag?: string;
}

@Entity('plants')
class Plant {
  @PrimaryColumn('bigint')
  id!: number;

  @Column('text')
  name!: string;

  @Column('text', { nullable: true })
  tag?: string;
}

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { authorization } = context.switchToHttp().getRequest<Request>().headers;
    if (authorization !== `Bearer ${process.env['AUTH_TOKEN']}`) throw new UnauthorizedException();
    return true;
  }
}

@Controller('plants')
@UseGuards(AuthGuard)
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  async create(@Body() plant: CreatePlantDto): Promise<Omit<CreatePlantDto, 'id'>> {
    const { id: _id, ...content } = await this.plants.save(plant);
    return content;
  }

  @Get()
  list(
    @Query('limit', new DefaultValuePipe(50), ParseIntPipe) limit: number,
    @Query('after', new DefaultValuePipe(0), ParseIntPipe) after: number,
    @Query('tag') tag?: string,
  ): Promise<Plant[]> {
    return this.plants.find({
      where: { id: MoreThan(after), ...(tag !== undefined && { tag }) },
      order: { id: 'ASC' },
      take: limit,
    });
  }

  @Get(':id')
  async get(@Param('id', ParseIntPipe) id: number): Promise<Plant> {
    const plant = await this.plants.findOneBy({ id });
    if (plant === null) throw new NotFoundException();
    return plant;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env['DATABASE_URL'] ?? '',
      entities: [Plant],
      poolSize: 10,
      // Reads a bigint as a number.
      parseInt8: true,
    }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
})
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false });
// Plant Store sends no ETag with creates and pages.
app.disable('etag');
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
announce(app.getHttpServer());
