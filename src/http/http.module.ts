import { Module } from '@nestjs/common';
import { Draining } from './draining.js';

@Module({ providers: [Draining] })
export class HttpModule {}
