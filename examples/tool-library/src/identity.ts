import { buildOf } from '@resource-service/framework/identity';
import type { Identity } from '@resource-service/framework/identity';

export const IDENTITY: Identity = {
  name: 'tool-library',
  title: 'Tool Library',
  description: 'A library of tools: lend them, and get them back.',
  tokenPrefix: 'tlb',
  build: buildOf(import.meta.url),
  firstRequest: {
    summary: 'Create a tool',
    path: '/tools',
    body: '{"name":"Hammer","note":"500 g"}',
  },
};
