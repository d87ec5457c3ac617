#!/usr/bin/env node
// First: an old Node.js cannot load the rest.
import './node-version.js';

const { parseArgs } = await import('node:util');
const { UsageError, reportingErrors } = await import('./names.js');
const { addResource } = await import('./resource.js');
const { createService, npm } = await import('./service.js');

const USAGE = `usage: create-service tool-library [tool tools] [--changes] [--packages FOLDER]
       create-service resource loan loans [--changes], in the folder of a service`;

await reportingErrors(run);

async function run() {
  const { positionals, packages, changes, openapi } = parsed();
  const [first, ...resource] = positionals;
  if (first === 'resource' && resource.length === 2 && packages === undefined) {
    await addResource(process.cwd(), ...resource, changes);
    if (!openapi || npm(process.cwd(), 'run', '--silent', 'openapi')) return;
    throw new UsageError(
      'openapi.json lacks the resource: run "npm install" and "npm run openapi"',
    );
  }
  if (first === undefined || first === 'resource' || ![0, 2].includes(resource.length)) {
    throw new UsageError(USAGE);
  }
  const [one = 'item', many = 'items'] = resource;
  return createService(first, one, many, changes, packages);
}

function parsed() {
  try {
    const options = {
      packages: { type: 'string' },
      changes: { type: 'boolean', default: false },
      // For `npm run generate`, because npm appends its arguments to the script.
      openapi: { type: 'boolean', default: false },
    };
    const { positionals, values } = parseArgs({ options, allowPositionals: true });
    return { positionals, ...values };
  } catch {
    throw new UsageError(USAGE);
  }
}
