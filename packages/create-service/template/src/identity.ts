import { buildOf } from '@resource-service/framework/identity';
import type { Identity } from '@resource-service/framework/identity';

export const IDENTITY: Identity = {
  name: 'sample-service',
  title: 'Sample Service',
  description: 'Create, list, change and remove sample items.',
  tokenPrefix: 'sam',
  build: buildOf(import.meta.url),
  firstRequest: {
    summary: 'Create a sample item',
    path: '/sample-items',
    body: '{"name":"First","note":"In use"}',
  },
};
