import { developCommand } from '@resource-service/framework';
import { IDENTITY } from '../identity.js';

await developCommand(IDENTITY);
