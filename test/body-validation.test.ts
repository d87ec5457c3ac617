import { describe, expect, it } from 'vitest';
import { BodyValidationPipe } from '../src/http/body-validation.pipe.js';

describe('a body whose class got lost by `import type`', () => {
  it.each([undefined, Object])('is an error of ours, never an unchecked body (%o)', (metatype) => {
    const pipe = new BodyValidationPipe();
    expect(() => pipe.transform({ id: 1 }, { type: 'custom', metatype })).toThrow(TypeError);
  });
});
