import type { Identity } from '../../src/config/identity.js';

/** The service that the tests of the framework make: a library of tools. */
export const IDENTITY: Identity = {
  name: 'tool-library',
  title: 'Tool Library',
  description: 'A library of tools: lend them, and get them back.',
  tokenPrefix: 'tlb',
  build: {
    version: '1.2.3',
    revision: 'unknown',
    homepage: undefined,
    clientTarball: 'none',
  },
  firstRequest: {
    summary: 'Create a tool',
    path: '/tools',
    body: '{"id":1,"name":"Hammer"}',
  },
};
