import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { FORMS, parseProperties } from '../src/properties.js';
import { isOfResource, templateFiles, templateText } from '../src/resource.js';
import { withProperties } from '../src/with-properties.js';

const mistakesIn = (...words: readonly string[]): readonly string[] =>
  parseProperties(words, 'loans').mistakes;

it('properties have any of the types, and can be optional', () => {
  expect(FORMS.length).toBeGreaterThan(12);
  const words = FORMS.flatMap((form: string, at: number) => [`a${at}:${form}`, `b${at}:${form}?`]);
  expect(mistakesIn(...words)).toEqual([]);
  const [property] = parseProperties(['stateNow:enum(open, lent out)?'], 'loans').properties;
  expect(property).toMatchObject({
    name: 'stateNow',
    column: 'state_now',
    parameters: ['open', 'lent out'],
    isOptional: true,
  });
});

it.each([
  ['due', 'is no property: write its name and its type, such as "due:date"'],
  ['due:day', `: there is no type day; the types are ${FORMS.join(', ')}`],
  ['due:constructor', ': there is no type constructor; the types are'],
  ['due:', ': there is no type ; the types are'],
  ['due:date(3)', ': date takes no parameters, as in date'],
  ['name:text(0)', ': text takes the greatest number of characters, or nothing, as in text(200)'],
  ['status:enum', ': enum takes two or more values, all different, of letters'],
  ['status:enum(open)', ': enum takes two or more values'],
  ['status:enum(open,open)', ': enum takes two or more values'],
  ["status:enum(open,it's)", ': enum takes two or more values'],
  ['status:enum(open,$)', ': enum takes two or more values'],
  ['price:decimal', ': decimal takes the number of digits, up to 1000, and how many of them are'],
  ['price:decimal(2,3)', ': decimal takes the number of digits'],
  ['price:decimal(1001,2)', ': decimal takes the number of digits'],
  ['price:decimal(5,2,1)', ': decimal takes the number of digits'],
  ['Due:date', ': its name must have letters and digits only, the first in lower case'],
  ['due-on:date', ': its name must have letters and digits only, the first in lower case'],
  [':date', ': its name must have letters and digits only, the first in lower case'],
  ['class:text', ': class is a keyword'],
  ['id:uuid', ': the name id is reserved'],
  ['sort:text', ': the name sort is reserved'],
  ['expand:text', ': the name expand is reserved'],
  ['xmin:bigint', ': the name xmin is reserved'],
  ['constructor:text', ': the name constructor is reserved'],
  [`${'long'.repeat(11)}A:text`, ': its name and loans have more than 49 characters together'],
])('%s has a mistake', (word, message) => {
  const [mistake, ...others] = mistakesIn(word);
  expect(mistake).toContain(JSON.stringify(word));
  expect(mistake).toContain(message);
  expect(others).toEqual([]);
});

it('all mistakes are found at once, also between two properties', () => {
  expect(
    mistakesIn('due:date', 'due:day', 'dueFrom:boolean', 'let:text(x)').map((mistake) =>
      mistake.replace(/; the types are.*/, ''),
    ),
  ).toEqual([
    '"due:day": there is no type day',
    '"due:day": there is another property due',
    '"dueFrom:boolean": lists have the parameter dueFrom for due',
    '"let:text(x)": let is a keyword',
    '"let:text(x)": text takes the greatest number of characters, or nothing, as in text(200)',
  ]);
});

it('a property with a name of a change record has another column in it', () => {
  const { properties, mistakes } = parseProperties(['kind:text', 'requestId:text'], 'loans');
  expect(mistakes).toEqual([]);
  const file = templateFiles().find((name: string) => name.endsWith('item-changes.ts'))!;
  const names = { one: 'sample-item', many: 'sample-items' };
  const text = withProperties(file, templateText(file, true), names, properties);
  expect(text).toContain('      "content_kind" text,\n      "content_request_id" text,\n');
});

it('a resource has no property of the template but its own', () => {
  const { properties } = parseProperties(['due:date'], 'sample_items');
  const names = { one: 'sample-item', many: 'sample-items' };
  const texts = templateFiles()
    .filter(isOfResource)
    .map((file: string) => withProperties(file, templateText(file, true), names, properties));
  for (const text of texts as readonly string[]) {
    expect(text).not.toMatch(/\bnote\b|In use|"name"|'First'|name!/);
  }
});

it('the page lists all types', async () => {
  const page = await readFile('packages/create-service/README.md', 'utf8');
  const types = FORMS.map((form: string) => `\`${form.replace('text(200)', 'text(50)')}\``);
  expect(types.filter((type: string) => !page.includes(type))).toEqual([]);
});
