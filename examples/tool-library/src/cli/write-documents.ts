import { writeDocuments } from '@resource-service/framework';
import { AppModule } from '../app.module.js';

await writeDocuments(AppModule, { openApi: 'openapi.json' });
