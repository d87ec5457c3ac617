import { Global, Module } from '@nestjs/common';
import { Resources } from './resources.js';
import { RowSlots } from './locks/row-slots.js';

@Global()
@Module({ providers: [Resources, RowSlots], exports: [Resources, RowSlots] })
export class ResourcesModule {}
