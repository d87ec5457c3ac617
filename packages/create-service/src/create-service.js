#!/usr/bin/env node
// First: an old Node.js cannot load the rest.
import './node-version.js';

const { parseArgs } = await import('node:util');
const { UsageError, reportingErrors } = await import('./names.js');
const { FORMS } = await import('./properties.js');
const { addChanges } = await import('./changes.js');
const { addResource, isResource } = await import('./resource.js');
const { createService, npm } = await import('./service.js');

const USAGE = `usage: create-service tool-library [tool tools [price:decimal(10,2) …]] [--changes] [--packages FOLDER]
       create-service resource loan loans [due:date …] [--changes], in the folder of a service

  --changes   records who has changed what, also of a resource that exists
  --packages  the folder of the packed packages, instead of the registry

Types of properties: ${FORMS.join(', ')}
A question mark makes a property optional. Shells need quotes: 'note:text?' 'status:enum(open,returned)'`;

await reportingErrors(run);

async function run() {
  const { positionals, packages, changes, openapi, help } = parsed();
  if (help) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const [first, ...resource] = positionals;
  if (first === 'resource' && resource.length >= 2 && packages === undefined) {
    const [one, many, ...properties] = resource;
    const isRecord = changes && properties.length === 0 && isResource(process.cwd(), many);
    if (isRecord) await addChanges(process.cwd(), one, many);
    else await addResource(process.cwd(), one, many, properties, changes);
    if (!openapi || npm(process.cwd(), 'run', '--silent', 'openapi')) return;
    throw new UsageError(
      'openapi.json lacks the resource: run "npm install" and "npm run openapi"',
    );
  }
  if (first === undefined || first === 'resource' || resource.length === 1) {
    throw new UsageError(USAGE);
  }
  const [one = 'item', many = 'items', ...properties] = resource;
  createService(first, one, many, properties, changes, packages);
}

function parsed() {
  try {
    const options = {
      packages: { type: 'string' },
      changes: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      // For `npm run generate`, because npm appends its arguments to the script.
      openapi: { type: 'boolean', default: false },
    };
    const { positionals, values } = parseArgs({ options, allowPositionals: true });
    return { positionals, ...values };
  } catch {
    throw new UsageError(USAGE);
  }
}
