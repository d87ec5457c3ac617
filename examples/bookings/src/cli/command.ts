#!/usr/bin/env node
// First, because an old Node.js cannot load the rest.
import '@resource-service/framework/node-version';
import { readFile } from 'node:fs/promises';

const { runCommand } = await import('@resource-service/command');
const { IDENTITY } = await import('../identity.js');

const document = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8'));
await runCommand({ identity: IDENTITY, document });
