// First, because an old Node.js cannot load the rest.
import '@resource-service/framework/node-version';

const { developCommand } = await import('@resource-service/framework/cli');
const { AppModule } = await import('../app.module.js');

await developCommand(AppModule);
