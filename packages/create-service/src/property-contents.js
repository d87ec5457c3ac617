import { parametersOf } from './properties.js';

/* Contents of a resource with these properties, in its examples and its tests. */

export function inExamples(properties, { one }) {
  const [first, second] = [0, 1].map((at) => contentOf(properties, at));
  const { name, words, values } = properties.at(-1);
  const optional = properties.find(({ isOptional }) => isOptional);
  const patch = {
    [name]: { summary: `Another ${words}`, value: { [name]: values[1] } },
    ...(optional && {
      none: { summary: `No ${optional.words}`, value: { [optional.name]: null } },
    }),
  };
  const examples = {
    create: {
      first: { summary: `The first ${one}`, value: { id: 1, ...first } },
      second: { summary: `The second ${one}`, value: { id: 2, ...second } },
    },
    replace: { second: { summary: `The second ${one}`, value: second } },
    patch,
  };
  return [[/(?<=ResourceExamples = )\{[^]*\}(?=;\n$)/, json(examples)]];
}

/** The first request, whose content has no apostrophe. */
export function inIdentity(properties) {
  return [[/(?<=body: ')\{.*\}(?=')/, json(contentOf(properties, 0))]];
}

/** The two constants of the test. */
function contentsOf(properties) {
  return ['FIRST', 'SECOND'].map((name, at) => [
    new RegExp(`(?<=const ${name} = )\\{.*\\}(?=;\\n)`),
    json(contentOf(properties, at)),
  ]);
}

export function inTest(properties, { path, one, many }) {
  const required = properties.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const wrong = properties.map(({ name, wrong: value }) => `  ['${name}', ${json(value)}],\n`);
  const rejected = `it.each([
${wrong.join('')}])('rejects a ${one} whose %s is %j', async (name, wrong) => {
  const response = await service.send('POST', '${path}', { ...FIRST, [name]: wrong });
  const message: unknown = expect.stringMatching(new RegExp(\`^\${name} must \`));
  expect(response).toMatchObject({ status: 400, body: { error: 40003, message } });
});
`;
  const missing = `
it.each(${json(required)})('rejects a ${one} without %s', async (name) => {
  const response = await service.send('POST', '${path}', { ...FIRST, [name]: undefined });
  const message = \`\${name} is missing\`;
  expect(response).toMatchObject({ status: 400, body: { error: 40003, message } });
});
`;
  return [
    ...contentsOf(properties),
    [/it\.each\(\[\n[^]*?\n\}\);\n/, required.length === 0 ? rejected : rejected + missing],
    [/(?<=\n)$/, filterTest(properties, { path, many }) + sortTest(properties, { path, many })],
  ];
}

function filterTest(properties, { path, many }) {
  const [first, second] = [0, 1].map((at) => contentOf(properties, at));
  const cases = properties.flatMap((property) =>
    Object.entries(parametersOf(property)).map(([parameter, by]) => {
      const isSecond = by === 'isAtLeast' && property.name in second;
      const value = encodeURIComponent(String((isSecond ? second : first)[property.name]));
      return `  ['${parameter}=${value}', ${isSecond ? 'SECOND' : 'FIRST'}],\n`;
    }),
  );
  if (cases.length === 0) return '';
  return `
it.each([
${cases.join('')}])('lists ${many} with %s', async (query, content) => {
  const first = await created(FIRST);
  await created(SECOND);
  const page = await service.send('GET', \`${path}?after=\${first - 1}&\${query}\`);
  expect(page.body).toMatchObject([content]);
});
`;
}

function sortTest(properties, { path, many }) {
  const sortable = properties.filter(({ filter }) => filter.isSortable).map(({ name }) => name);
  if (sortable.length === 0) return '';
  return `
it.each(${json(sortable)})('sorts ${many} by %s, in both directions', async (name) => {
  const first = await created(FIRST);
  const second = await created(SECOND);
  const sorted = async (sort: string) => {
    const { body } = await service.send('GET', \`${path}?sort=\${sort}&limit=1000\`);
    return (body as { id: number }[]).map(({ id }) => id).filter((id) => id >= first);
  };
  expect(await sorted(name)).toEqual([first, second]);
  // Without a value, they come last.
  expect(await sorted(\`-\${name}\`)).toEqual(name in SECOND ? [second, first] : [first, second]);
});
`;
}

/** The first content has all properties, the second those that are required, but at least one. */
function contentOf(properties, at) {
  const required = properties.filter(({ isOptional }) => !isOptional);
  const shown = at === 0 ? properties : required.length > 0 ? required : properties.slice(-1);
  return Object.fromEntries(shown.map(({ name, values }) => [name, values[at]]));
}

function json(value) {
  return JSON.stringify(value);
}
