import { migrationCommand } from '@resource-service/framework';
import { AppModule } from '../app.module.js';

await migrationCommand(AppModule);
