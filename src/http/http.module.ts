import { Module } from '@nestjs/common';
import { Draining } from './draining.js';
import { ManagementServer } from './management-server.js';

@Module({ providers: [Draining, ManagementServer] })
export class HttpModule {}
