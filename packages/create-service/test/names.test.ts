import { expect, it } from 'vitest';
import { requireResourceNames } from '../src/names.js';
import { isOfResource, templateFiles, templateText } from '../src/resource.js';

const kebabCase = (name: string) =>
  name
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '-')
    .replaceAll('_', '-')
    .toLowerCase();

/** The names of a resource, `[one, many]`, with which a file of the template has a name of its own that it also imports. */
function clashesIn(file: string): readonly [string, string][] {
  const text = templateText(file, true);
  const imported = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '[\w@]/gm)].flatMap(
    ([, names = '']) => names.match(/\w+/g) ?? [],
  );
  const own = new Set(
    text.replaceAll(/'[^'\n]*'|`[^`]*`|\/\*[^]*?\*\//g, '').match(/\w*sample_?item\w*/gi),
  );
  return [...own].flatMap((name) => {
    const [found = '', plural] = /sample_?item(s?)/i.exec(name) ?? [];
    const pattern = new RegExp(`^${name.replace(found, '(\\w+)')}$`);
    return imported.flatMap((other): [string, string][] => {
      const [, word = ''] = pattern.exec(other) ?? [];
      const isOfCase = (of: RegExp) => of.test(word) === of.test(found);
      if (word === '' || ![/^[A-Z]/, /^[^a-z]+$/].every(isOfCase)) return [];
      return [plural === '' ? [kebabCase(word), 'others'] : ['other', kebabCase(word)]];
    });
  });
}

it('a resource has no name that its files import', () => {
  const files = templateFiles().filter((file) => isOfResource(file) && file.startsWith('src/'));
  const clashes = files.flatMap(clashesIn);
  expect(clashes).toContainEqual(['list-of', 'others']);
  const accepted = clashes.filter(([one, many]) => {
    try {
      requireResourceNames(one, many);
      return true;
    } catch {
      return false;
    }
  });
  expect(accepted).toEqual([]);
});

it.each([
  ['list-parameter', 'list-parameters'],
  ['omit-type', 'omit-types'],
  ['post', 'posts'],
  ['equipment', 'equipment'],
])('a resource may be called %s', (one, many) => {
  expect(() => requireResourceNames(one, many)).not.toThrow();
});
