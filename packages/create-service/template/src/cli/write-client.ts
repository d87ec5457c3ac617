import { readFile } from 'node:fs/promises';
import { writeClient } from '@resource-service/client/generator';
import { allErrors } from '@resource-service/framework';
// Defines the errors of the service.
import '../app.module.js';
import { IDENTITY } from '../identity.js';

const document = JSON.parse(await readFile('openapi.json', 'utf8'));
const source = { identity: IDENTITY, document, errors: allErrors(), license: 'UNLICENSED' };
await writeClient(source, 'dist-client');
