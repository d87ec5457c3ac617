#!/usr/bin/env node
import { readFile } from 'node:fs/promises';
import { runCommand } from '@resource-service/command';
import { IDENTITY } from '../identity.js';

const document = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
await runCommand({ identity: IDENTITY, document });
