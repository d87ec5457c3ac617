import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/*
 * Writes what each door of a package exports, with its types, into `api.d.txt` of the package. With `--check` it fails when a
 * report is not up to date: whoever changes a door sees it in the diff. It reads the declarations that `npm run build:packages`
 * writes.
 */

const PACKAGES = ['framework', 'changes', 'webhooks', 'client', 'local', 'command', 'conformance'];

const printer = ts.createPrinter({ removeComments: true });

for (const name of PACKAGES) {
  const folder = new URL(`../packages/${name}/`, import.meta.url);
  const { exports } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8'));
  const doors = Object.entries(exports).flatMap(([door, { types }]) =>
    types === undefined ? [] : [[door, fileURLToPath(new URL(types, folder))]],
  );
  const program = ts.createProgram(
    doors.map(([, file]) => file),
    { module: ts.ModuleKind.NodeNext, skipLibCheck: true, noEmit: true },
  );
  const report = doors.map(([door, file]) => doorReport(program, door, file)).join('\n');
  const file = new URL('api.d.txt', folder);
  const written = await readFile(file, 'utf8').catch(() => '');
  if (written === report) continue;
  if (process.argv.includes('--check')) {
    process.stderr.write(`packages/${name}/api.d.txt is out of date: npm run api\n`);
    process.exitCode = 1;
  } else await writeFile(file, report);
}

function doorReport(program, door, file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  if (source === undefined) throw new Error(`${file} is missing: npm run build:packages`);
  const module = checker.getSymbolAtLocation(source);
  const symbols = module === undefined ? [] : checker.getExportsOfModule(module);
  const texts = symbols
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((symbol) => {
      const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
      const { declarations = [] } = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      return declarations.map((declaration) => `${symbol.name}: ${textOf(declaration)}\n`);
    });
  return `// ${door}\n\n${texts.join('')}`;
}

/** Without comments and private properties. */
function textOf(declaration) {
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const text = printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
  const lines = text.split('\n').filter((line) => !/^ {4}(private |#)/.test(line));
  // The order of an inferred union depends on what was compiled before.
  const sorted = (union) => union.split(' | ').toSorted().join(' | ');
  return lines
    .join('\n')
    .replace(/^export (declare )?/, '')
    .replaceAll(/"[^"\n]*"(?: \| "[^"\n]*")+/g, sorted);
}
