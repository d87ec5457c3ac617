import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Such as `request.check = () => …`. */
const ASSIGNED = /^\s*\w+(?:\.\w+)+ (?:\?\?)?= (?:async )?(?:\(.*\).* =>|\w+ =>|function\b).*$/gm;

it('no function literal is assigned to a property', () => {
  // V8 allocates it among the old objects, where it keeps what it refers to, such as a request, until a major
  // collection. Through a `const` or `Object.assign()`, it is young.
  const packages = readdirSync('packages').map((name) => join('packages', name, 'src'));
  const files = packages.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  const found = files.flatMap((file) =>
    (readFileSync(file, 'utf8').match(ASSIGNED) ?? []).map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
