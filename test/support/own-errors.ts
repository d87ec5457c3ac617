import { readFileSync } from 'node:fs';
import { afterAll, vi } from 'vitest';

const documented = new Set(
  [...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| (\d+) /gm)].map(([, n]) => Number(n)),
);

// Files share modules (`isolate: false`), and a service lists the errors of all loaded modules. After a file that defines errors
// which the plant store does not have, the next one loads the modules anew.
afterAll(async () => {
  const { allErrors } = await import('../../packages/framework/src/errors/error-kind.js');
  if (allErrors().some(({ number }) => !documented.has(number))) vi.resetModules();
});
