import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/*
 * `npm run generate -- orchard orchards`: makes a resource of the gardens in this folder. Lines between `#region` and
 * `#endregion` belong to gardens alone, and are left out.
 */

const TEMPLATE = 'examples/gardens';
const [one = '', many = ''] = process.argv.slice(2);
const folder = `src/${many}`;

if (![one, many].every((name) => /^[a-z]{2,30}$/.test(name)) || one === many) {
  fail('usage: npm run generate -- orchard orchards: one word in lower case, and its plural');
}
if (existsSync(folder)) fail(`${folder} exists already`);

const timestamp = Math.max(Date.now(), ...migrationTimes().map((time) => time + 1));
const firstNumber = Math.max(...errorRanges().map(([, last]) => last)) + 1;
if (firstNumber > 90) fail('all ranges of error numbers are taken (src/errors/error-kind.ts)');

for (const [source, target] of files()) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, renamed(readFileSync(source, 'utf8'), source));
}
const features = readFileSync('src/features.ts', 'utf8');
writeFileSync(
  'src/features.ts',
  features
    .replace(/^/, `import { ${many.toUpperCase()} } from './${many}/${many}.feature.js';\n`)
    .replace(/\[([A-Z, ]+)\]/, (_, listed) => `[${listed}, ${many.toUpperCase()}]`),
);
for (const command of [
  `npx prettier --write ${folder} test/${many}.e2e.test.ts src/features.ts`,
  'npm run openapi',
  'npm run layers',
]) {
  execSync(command, { stdio: ['ignore', 'ignore', 'inherit'] });
}
process.stdout.write(
  `${folder} has the resource, and test/${many}.e2e.test.ts its tests. Change the members in ${folder}/${one}.entity.ts, its examples in ${folder}/${many}.openapi.ts, and its table in ${folder}/migrations, then run npm run openapi and npm run check.\n`,
);

/** What is copied, and where to. */
function files() {
  const sources = readdirSync(TEMPLATE, { recursive: true }).map(String);
  const isTemplate = (name) => /^((dto\/)?gardens?\.|migrations\/.*\.ts$)/.test(name);
  return sources.filter(isTemplate).map((name) => {
    const target = renamed(name).replace(/\d{13}/, String(timestamp));
    const isTest = name.endsWith('.test.ts');
    return [join(TEMPLATE, name), isTest ? join('test', target) : join(folder, target)];
  });
}

function renamed(text, source = '') {
  const isTest = source.endsWith('.test.ts');
  return (
    text
      .replaceAll(/^ *\/\/ #region[\s\S]*?\/\/ #endregion\n/gm, '')
      // A test lies beside the folder `support`, the rest one level below `src`.
      .replaceAll(/((?:\.\.\/)+)(src|test)\//g, (_, up, root) =>
        isTest ? { src: '../src/', test: './' }[root] : up.slice('../'.length),
      )
      .replaceAll(/\b([Aa]) garden\b/g, (_, a) => `${a}${/^[aeiou]/.test(one) ? 'n' : ''} ${one}`)
      .replaceAll('gardens', many)
      .replaceAll('garden', one)
      .replaceAll('Gardens', capital(many))
      .replaceAll('Garden', capital(one))
      .replaceAll('GARDENS', many.toUpperCase())
      .replaceAll('GARDEN', one.toUpperCase())
      .replaceAll(/\b(4\d\d)2(\d)\b/g, (_, status, n) => `${status}${firstNumber / 10}${n}`)
      .replaceAll('[20, 29]', `[${firstNumber}, ${firstNumber + 9}]`)
      .replaceAll('1795395600000', String(timestamp))
  );
}

function migrationTimes() {
  return readdirSync('src', { recursive: true }).flatMap((name) => {
    const [, time] = /migrations\/(\d{13})-/.exec(String(name)) ?? [];
    return time === undefined ? [] : [Number(time)];
  });
}

/** The ranges of the last two digits of error numbers that are taken, also by the template. */
function errorRanges() {
  const names = readdirSync('src', { recursive: true }).map((name) => join('src', String(name)));
  const sources = [
    ...names.filter((name) => name.endsWith('errors.ts')),
    `${TEMPLATE}/gardens.errors.ts`,
  ];
  return sources.flatMap((name) => {
    const [, first, last] = /defineErrors\(\[(\d+), (\d+)\]/.exec(readFileSync(name, 'utf8')) ?? [];
    return first === undefined ? [] : [[Number(first), Number(last)]];
  });
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
