import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXAMPLE } from '../support/application.js';
import { OPERATIONS } from '../support/operations.js';
import { startTestService } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

/** Values that `Number()` or `ParseIntPipe` would take for an integer, and values that no column can hold. */
const NOT_INTEGERS = ['x', '1e3', '0x10', '01', '+1', '%201', '1.0', '9223372036854775808', '%00'];

const testFiles = ['test', ...(EXAMPLE === undefined ? [] : [EXAMPLE])].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8')),
);

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

for (const { method, path, parameters, body } of OPERATIONS) {
  describe(`${method} ${path}`, () => {
    it('has tests of its own', () => {
      const suite = `describe('${method} ${path}', `;
      expect(
        testFiles.some((text) => text.includes(suite)),
        `no file in test/ contains ${suite}…): put the tests of this operation into a suite with its name`,
      ).toBe(true);
    });

    for (const { name, schema } of parameters.filter((parameter) => parameter.in === 'path')) {
      it(`refuses a malformed ${name} in the path`, async () => {
        const isText = schema.type === 'string';
        for (const text of isText ? ['%00'] : NOT_INTEGERS) {
          const target = path.replace(`{${name}}`, text).replaceAll(/\{\w+\}/g, '1');
          const answer = await service.request(method, target, {
            headers: { 'Content-Type': 'application/json' },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          });
          // For text, any refusal will do: a name may be well-formed and unknown.
          const isRefused = isText ? answer.status < 500 : answer.text.includes('"error":40004,');
          expect(
            isRefused,
            `${name}=${text} gets ${answer.status} ${answer.text}: give @Param('${name}') a pipe that checks the text of the path, such as Int64Pipe`,
          ).toBe(true);
        }
      });
    }
  });
}
