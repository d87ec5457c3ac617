import { Module } from '@nestjs/common';
import { ManagementServer } from './management-server.js';

@Module({ providers: [ManagementServer] })
export class ManagementModule {}
