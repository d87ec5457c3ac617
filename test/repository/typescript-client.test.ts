import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ERRORS } from '../../clients/typescript/src/errors.js';
import { allErrors } from '../../src/errors/error-kind.js';
import '../../src/features.js';

it.each(['generate.js', 'generate-errors.js'])(
  'the TypeScript client is up to date: run `npm run openapi` when this fails (%s)',
  async (script) => {
    await promisify(execFile)(process.execPath, [`clients/typescript/${script}`, '--check']);
  },
);

it('the TypeScript client has the number of each failure, by its name', () => {
  const codes = Object.entries(ERRORS).map(([name, number]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    number,
  ]);
  expect(codes).toEqual(allErrors().map(({ code, number }) => [code, number]));
});
