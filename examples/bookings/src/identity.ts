import { buildOf } from '@resource-service/framework/identity';
import type { Identity } from '@resource-service/framework/identity';

export const IDENTITY: Identity = {
  name: 'guest-house',
  title: 'Guest House',
  description: 'Rooms of a guest house, and who has booked them for which nights.',
  tokenPrefix: 'gho',
  build: buildOf(import.meta.url),
  firstRequest: {
    summary: 'Create a room',
    path: '/rooms',
    body: '{"name":"Garden view","kind":"double","price":"120.00"}',
  },
};
