import { bootstrap } from '@resource-service/framework';
import { AppModule } from './app.module.js';

await bootstrap(AppModule);
