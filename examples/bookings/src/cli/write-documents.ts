// First, because an old Node.js cannot load the rest.
import '@resource-service/framework/node-version';

const { writeDocuments } = await import('@resource-service/framework/cli');
const { AppModule } = await import('../app.module.js');

await writeDocuments(AppModule, { openApi: 'openapi.json', variables: '.env.example' });
