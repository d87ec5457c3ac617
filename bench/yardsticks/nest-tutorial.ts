import 'reflect-metadata';
import { Body, Controller, HttpCode, Module, Post, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsInt, IsOptional, IsString } from 'class-validator';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
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

@Controller('plants')
class PlantsController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Post()
  @HttpCode(200)
  async create(@Body() plant: CreatePlantDto): Promise<Omit<CreatePlantDto, 'id'>> {
    const { id: _id, ...content } = await this.plants.save(plant);
    return content;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env['DATABASE_URL'] ?? '',
      entities: [Plant],
      poolSize: 10,
    }),
    TypeOrmModule.forFeature([Plant]),
  ],
  controllers: [PlantsController],
})
class AppModule {}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: false });
app.useGlobalPipes(new ValidationPipe());
await app.listen(0, '127.0.0.1');
announce(app.getHttpServer());
