import { buildOf } from '@resource-service/framework/identity';
import type { Identity } from '@resource-service/framework/identity';

export const IDENTITY: Identity = {
  name: 'plant-store',
  title: 'Plant Store',
  description: 'A store of plants: create, list, change and remove them.',
  tokenPrefix: 'pst',
  build: buildOf(import.meta.url),
  // The published interface, which the version of the service does not change.
  document: { version: '1.0.0', license: 'MIT' },
  firstRequest: {
    summary: 'Create a plant',
    path: '/plants',
    body: '{"id":1,"name":"Monstera","tag":"indoor"}',
  },
  client: { package: '@plant-store/client', resource: { name: 'plants', className: 'PlantStore' } },
};
