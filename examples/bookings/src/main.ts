// First, because an old Node.js cannot load the rest.
import '@resource-service/framework/node-version';

const { bootstrap } = await import('@resource-service/framework');
const { AppModule } = await import('./app.module.js');

await bootstrap(AppModule);
