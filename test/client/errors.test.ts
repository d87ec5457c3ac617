import { expect, it } from 'vitest';
import { allErrors } from '../../packages/framework/src/errors/error-kind.js';
import '../../src/app.module.js';
import { ERRORS } from '../../dist-client/dist/plant-store.js';

it('the client has the number of each failure, by its name', () => {
  const codes = Object.entries(ERRORS).map(([name, number]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    number,
  ]);
  expect(codes).toEqual(allErrors().map(({ code, number }) => [code, number]));
});
