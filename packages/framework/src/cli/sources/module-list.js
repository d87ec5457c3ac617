// @ts-check
import { SourceError } from './source-error.js';
import { Syntax } from './syntax.js';

/* Adds a class to a list of a Nest module in the style of the file. The syntax tree tells comments and other lists from the list.
   All other text stays unchanged. */

/**
 * @import ts from 'typescript'
 * @typedef {object} Addition
 * @property {'imports' | 'migrations'} list of `@Module()`, or of `ResourceModule.forFeature()`
 * @property {string} name of the class
 * @property {string} path as the module imports it
 * @typedef {object} Place of the list, or of the object or the arguments that lack it
 * @property {ts.NodeArray<ts.Node>} items
 * @property {number} start after the opening bracket
 * @property {(item: string) => string} wrap
 * @property {readonly string[]} listed
 * @typedef {import('./syntax.js').Insertion} Insertion
 */

/**
 * The source of a module with another class in a list, and its import.
 *
 * @param {import('./syntax.js').Compiler} compiler
 * @param {string} file as errors name it
 * @param {string} text
 * @param {Addition} addition
 * @throws {SourceError} if the list is ambiguous, or the file has the name already
 */
export function withListed(compiler, file, text, { list, name, path }) {
  const syntax = new Syntax(compiler, file, text);
  const taken = syntax.identifier(name);
  if (taken !== undefined) throw syntax.errorAt(taken, `has the name ${name} already`);
  const place = PLACES[list](syntax);
  const insertions = [...syntax.inserted(place, place.wrap(name)), importOf(syntax, name, path)];
  const changed = syntax.withInserted(insertions);
  const { listed } = PLACES[list](new Syntax(compiler, file, changed));
  if (JSON.stringify(listed) !== JSON.stringify([...place.listed, name])) {
    throw new SourceError(`${file}: add ${name} to the ${list} by hand, and its import`);
  }
  return changed;
}

const PLACES = { imports: placeOfImports, migrations: placeOfMigrations };

/**
 * The imports of the application: of several modules, the exported one that imports `FrameworkModule.forRoot()`.
 *
 * @param {Syntax} syntax
 */
function placeOfImports(syntax) {
  const [only, other] = narrowed(syntax.modules, [
    ({ node }) => syntax.isExportedClass(node),
    ({ call }) => syntax.callsOf('FrameworkModule', 'forRoot', call).length > 0,
    ({ node }) => node.name?.text === 'AppModule',
  ]);
  if (only === undefined) throw new SourceError(`${syntax.file} has no class with @Module()`);
  if (other !== undefined) {
    throw syntax.errorAt(other.call, 'has a further module: which one is the application?');
  }
  return placeIn(syntax, only.call, { position: 0, list: 'imports', what: '@Module()' });
}

/**
 * The migrations of the resource of a module: any list, if one class has several.
 *
 * @param {Syntax} syntax
 */
function placeOfMigrations(syntax) {
  /** @param {ts.Node} node @returns {ts.Node} */
  const statementOf = (node) => (node.parent === syntax.source ? node : statementOf(node.parent));
  const found = narrowed(syntax.callsOf('ResourceModule', 'forFeature'), [
    (call) => syntax.isExportedClass(statementOf(call)),
    ({ arguments: [, last] }) => {
      const options = last && syntax.valueOf(last);
      return (
        options !== undefined &&
        syntax.ts.isObjectLiteralExpression(options) &&
        syntax.propertyOf(options, 'migrations') !== undefined
      );
    },
  ]);
  const [first] = found;
  if (first === undefined) {
    throw new SourceError(`${syntax.file} has no ResourceModule.forFeature()`);
  }
  const other = found.find((call) => statementOf(call) !== statementOf(first));
  if (other !== undefined) {
    throw syntax.errorAt(other, 'has further migrations: which ones are those of the resource?');
  }
  const what = 'ResourceModule.forFeature()';
  return placeIn(syntax, first, { position: 1, list: 'migrations', what });
}

/**
 * The list in the options of a call.
 *
 * @param {Syntax} syntax
 * @param {ts.CallExpression} call
 * @param {{ readonly position: number, readonly list: string, readonly what: string }} options
 * @returns {Place}
 */
function placeIn(syntax, call, { position, list, what }) {
  const { ts } = syntax;
  const given = call.arguments;
  const last = given[position];
  if (given.length < position || given.some(ts.isSpreadElement)) {
    throw syntax.errorAt(call, `has a ${what} whose options this command does not understand`);
  }
  if (last === undefined) {
    const isOnly = given.length === 0;
    const start = isOnly ? call.end - 1 : given.pos;
    return { items: given, start, wrap: (item) => `{ ${list}: [${item}] }`, listed: [] };
  }
  const options = syntax.valueOf(last);
  if (!ts.isObjectLiteralExpression(options)) {
    throw syntax.errorAt(last, `has options of ${what} that are no object in braces`);
  }
  const property = syntax.propertyOf(options, list);
  if (property === undefined) {
    const { properties } = options;
    const spread = properties.find(ts.isSpreadAssignment);
    if (spread !== undefined) throw syntax.errorAt(spread, `may have the ${list} of ${what}`);
    const space = properties.length === 0 ? ' ' : '';
    return {
      items: properties,
      start: options.getStart() + 1,
      wrap: (item) => `${space}${list}: [${item}]${space}`,
      listed: [],
    };
  }
  // A later spread would replace the list.
  const later = options.properties.slice(options.properties.indexOf(property) + 1);
  const spread = later.find(ts.isSpreadAssignment);
  if (spread !== undefined) throw syntax.errorAt(spread, `may have the ${list} of ${what}`);
  const value = ts.isPropertyAssignment(property) && syntax.valueOf(property.initializer);
  if (!value || !ts.isArrayLiteralExpression(value)) {
    throw syntax.errorAt(property, `has ${list} of ${what} that are no list in brackets`);
  }
  return {
    items: value.elements,
    start: value.getStart() + 1,
    wrap: (item) => item,
    listed: value.elements.map((element) => element.getText()),
  };
}

/**
 * Imports the class, sorted by path among the imports from its folder.
 *
 * @param {Syntax} syntax
 * @param {string} name
 * @param {string} path
 * @returns {Insertion}
 */
function importOf(syntax, name, path) {
  const { text, eol, imports } = syntax;
  /** @param {ts.ImportDeclaration} declaration */
  const pathOf = ({ moduleSpecifier }) => moduleSpecifier.getText().slice(1, -1);
  // The order of imports without names matters.
  const ofFolder = imports.filter((each) => each.importClause && pathOf(each).startsWith('./'));
  const [first] = ofFolder;
  const before = first === undefined ? imports.at(-1) : imports[imports.indexOf(first) - 1];
  const previous = ofFolder.findLast((each) => pathOf(each) < path) ?? before;
  const example = /** @type {ts.ImportDeclaration} */ (previous ?? first);
  const line = syntax.importLike(example, `import { ${name} }`, path);
  if (previous === undefined) return [example.getStart(), `${line}${eol}`];
  const at = syntax.endOfLine(previous.end);
  const isLast = /^[ \t]*(\r?\n|$)/.test(text.slice(at));
  return [at, `${eol}${line}${isLast ? '' : eol}`];
}

/**
 * Applies the conditions one after the other, except a condition that no candidate fulfils.
 *
 * @template T
 * @param {readonly T[]} candidates
 * @param {readonly ((candidate: T) => boolean)[]} conditions
 */
function narrowed(candidates, conditions) {
  return conditions.reduce((left, condition) => {
    const next = left.filter(condition);
    return next.length === 0 ? left : next;
  }, candidates);
}
