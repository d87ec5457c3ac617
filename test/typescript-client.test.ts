import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { it } from 'vitest';

it('the TypeScript client has the types of the document: run `npm run openapi` when this fails', async () => {
  await promisify(execFile)(process.execPath, ['clients/typescript/generate.js', '--check']);
});
