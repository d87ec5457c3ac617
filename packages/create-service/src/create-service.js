#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { Refusal } from './names.js';
import { addResource } from './resource.js';
import { createService } from './service.js';

const USAGE = `usage: create-service tool-library [tool tools] [--changes] [--packages FOLDER]
       create-service resource loan loans [--changes], in the folder of a service`;

try {
  await run();
} catch (error) {
  // What the file system refuses says so in one line, too.
  if (!(error instanceof Refusal) && error.syscall === undefined) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function run() {
  const { positionals, packages, changes } = parsed();
  const [first, ...resource] = positionals;
  if (first === 'resource' && resource.length === 2 && packages === undefined) {
    return addResource(process.cwd(), ...resource, changes);
  }
  if (first === undefined || first === 'resource' || ![0, 2].includes(resource.length)) {
    throw new Refusal(USAGE);
  }
  const [one = 'item', many = 'items'] = resource;
  return createService(first, one, many, changes, packages);
}

function parsed() {
  try {
    const options = { packages: { type: 'string' }, changes: { type: 'boolean', default: false } };
    const { positionals, values } = parseArgs({ options, allowPositionals: true });
    return { positionals, ...values };
  } catch {
    throw new Refusal(USAGE);
  }
}
