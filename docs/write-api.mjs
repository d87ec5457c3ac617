import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/*
 * Writes what each door of a package exports, with its types, into `api.d.txt` of the package. With `--check` it fails when a
 * report is not up to date: whoever changes a door sees it in the diff. It reads the declarations that `npm run build:packages`
 * writes. It always fails if what services import from the framework has no docstring with an example.
 */

const PACKAGES = ['framework', 'changes', 'webhooks', 'client', 'local', 'command', 'conformance'];

/** The doors of the framework for services. */
const FOR_SERVICES = new Set(['.', './cli']);

const printer = ts.createPrinter({ removeComments: true });

const packages = await Promise.all(
  PACKAGES.map(async (name) => {
    const folder = new URL(`../packages/${name}/`, import.meta.url);
    const { exports } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
    const doors = Object.entries(exports).flatMap(([door, { types }]) =>
      types === undefined ? [] : [[door, fileURLToPath(new URL(types, folder))]],
    );
    return { name, folder, doors };
  }),
);

// One for all packages: what takes time is to read the declarations of NestJS and TypeORM.
const program = ts.createProgram(
  packages.flatMap(({ doors }) => doors.map(([, file]) => file)),
  { module: ts.ModuleKind.NodeNext, skipLibCheck: true, noEmit: true },
);

for (const { name, folder, doors } of packages) {
  if (name === 'framework') {
    const names = doors
      .filter(([door]) => FOR_SERVICES.has(door))
      .flatMap(([, file]) => undocumentedOf(file));
    if (names.length > 0)
      fail(`packages/framework: no docstring, or no @example: ${names.join(', ')}`);
  }
  const report = doors.map(([door, file]) => doorReport(door, file)).join('\n');
  const file = new URL('api.d.txt', folder);
  const written = await readFile(file, 'utf8').catch(() => '');
  if (written === report) continue;
  if (process.argv.includes('--check')) {
    fail(`packages/${name}/api.d.txt is out of date: npm run api`);
  } else await writeFile(file, report);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

function doorReport(door, file) {
  const texts = exportsOf(file).flatMap(({ exported, target }) =>
    (target.declarations ?? []).map((declaration) => `${exported.name}: ${textOf(declaration)}\n`),
  );
  return `// ${door}\n\n${texts.join('')}`;
}

function exportsOf(file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  if (source === undefined) throw new Error(`${file} is missing: npm run build:packages`);
  const module = checker.getSymbolAtLocation(source);
  const symbols = module === undefined ? [] : checker.getExportsOfModule(module);
  return symbols
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((exported) => {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      return { exported, target: isAlias ? checker.getAliasedSymbol(exported) : exported };
    });
}

/** Each name has a docstring; a value has an `@example` as well, which may be at a method. */
function undocumentedOf(file) {
  const checker = program.getTypeChecker();
  const undocumented = exportsOf(file).filter(({ exported, target }) => {
    const tags = [exported, target].flatMap((symbol) => symbol.getJsDocTags(checker));
    if (tags.some((tag) => tag.name === 'deprecated')) return false;
    if (target.getDocumentationComment(checker).length === 0) return true;
    const isType = exported.declarations.every(ts.isTypeOnlyExportDeclaration);
    const texts = target.declarations.map((declaration) => nodeOf(declaration).getFullText());
    return !isType && !texts.some((text) => text.includes('@example'));
  });
  return undocumented.map(({ exported }) => exported.name);
}

function nodeOf(declaration) {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

/** Without comments and private properties. */
function textOf(declaration) {
  const node = nodeOf(declaration);
  const text = printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
  const lines = text.split('\n').filter((line) => !/^ {4}(private |#)/.test(line));
  // The order of an inferred union depends on what was compiled before.
  const sorted = (union) => union.split(' | ').toSorted().join(' | ');
  return lines
    .join('\n')
    .replace(/^export (declare )?/, '')
    .replaceAll(/"[^"\n]*"(?: \| "[^"\n]*")+/g, sorted);
}
