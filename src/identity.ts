import { buildOf } from '@resource-service/framework/identity';
import type { Identity } from '@resource-service/framework/identity';

export const IDENTITY: Identity = {
  name: 'plant-store',
  title: 'Plant Store',
  description: 'A store of plants: create, list, change and remove them.',
  tokenPrefix: 'pst',
  build: buildOf(import.meta.url),
  firstRequest: {
    summary: 'Create a plant',
    path: '/plants',
    body: '{"id":1,"name":"Monstera","tag":"indoor"}',
  },
  client: { package: '@plant-store/client', resource: { name: 'plants', className: 'PlantStore' } },
};
