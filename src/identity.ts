import type { Identity } from './config/identity.js';

export const IDENTITY: Identity = {
  name: 'plant-store',
  title: 'Plant Store',
  description: 'A store of plants: create, list, change and remove them.',
  tokenPrefix: 'pst',
  firstRequest: {
    summary: 'Create a plant',
    path: '/plants',
    body: '{"id":1,"name":"Monstera","tag":"indoor"}',
  },
};
