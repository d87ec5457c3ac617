// First, because an old Node.js cannot load the rest.
import '@resource-service/framework/node-version';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

const timeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

// `npm start` asks each time, so what takes long is loaded only if there is something to write.
if (timeOf('dist-client/client.tgz') < Math.max(timeOf('openapi.json'), timeOf('package.json'))) {
  const { writeClient } = await import('@resource-service/client/generator');
  const { allErrors } = await import('@resource-service/framework');
  const { IDENTITY } = await import('../identity.js');
  // Defines the errors of the service.
  await import('../app.module.js');
  const document = JSON.parse(await readFile('openapi.json', 'utf8'));
  const source = { identity: IDENTITY, document, errors: allErrors(), license: 'UNLICENSED' };
  await writeClient(source, 'dist-client');
}
