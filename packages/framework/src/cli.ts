import 'reflect-metadata';

/* The public interface for the programs of `npm run`, none of which a service needs to serve requests. */

export { developCommand } from './cli/develop.js';
export { migrationCommand } from './cli/migration.js';
export { writeDocuments } from './cli/write-documents.js';
