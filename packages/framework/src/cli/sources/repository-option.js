// @ts-check
import { SourceError } from './source-error.js';
import { Syntax } from './syntax.js';

/* Adds an option to a repository in the style of the file. All other text stays unchanged. */

/**
 * @import ts from 'typescript'
 * @typedef {object} Import
 * @property {string} name
 * @property {string} path of a package, or one that begins with `../`
 * @property {boolean} [isType]
 * @typedef {object} RepositoryOption
 * @property {string} name
 * @property {string} value as source
 * @property {Import} type the third type argument of the base class, if it has two
 * @property {readonly Import[]} imports
 * @property {Readonly<Record<string, string>>} conflicts by the name of another option: the problem
 */

/**
 * The source of a repository, `class … extends ResourceRepository(Tool, { … })`, with another option.
 *
 * @param {import('./syntax.js').Compiler} compiler
 * @param {string} file as errors name it
 * @param {string} text
 * @param {RepositoryOption} option
 * @throws {SourceError} if there is no such class or several, it has an option that excludes this one, or the file has an imported name already
 */
export function withOption(compiler, file, text, { name, value, type, imports, conflicts }) {
  const syntax = new Syntax(compiler, file, text);
  const [found, other] = repositories(syntax);
  if (found === undefined) {
    throw new SourceError(`${file} has no class that extends a repository with options in braces`);
  }
  if (other !== undefined) throw syntax.errorAt(other.call, 'has a further repository: which one?');
  const { call, options } = found;
  for (const [conflicting, problem] of Object.entries(conflicts)) {
    const property = syntax.propertyOf(options, conflicting);
    if (property !== undefined) throw syntax.errorAt(property, problem);
  }
  const types = call.typeArguments;
  if (types !== undefined && types.length !== 2) {
    throw syntax.errorAt(call, `has not the two type arguments before ${type.name}`);
  }
  const all = types === undefined ? imports : [...imports, type];
  for (const each of all) {
    const taken = syntax.identifier(each.name);
    if (taken !== undefined) throw syntax.errorAt(taken, `has the name ${each.name} already`);
  }
  const list = { items: options.properties, start: options.getStart() + 1 };
  return syntax.withInserted([
    ...syntax.inserted(list, `${name}: ${value}`),
    ...(types === undefined ? [] : syntax.inserted({ items: types, start: types.pos }, type.name)),
    ...importsInto(syntax, all),
  ]);
}

/** @param {Syntax} syntax */
function repositories(syntax) {
  const { ts } = syntax;
  const bases = syntax.source.statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ heritageClauses = [] }) => heritageClauses.flatMap(({ types }) => [...types]));
  return bases.flatMap(({ expression: call }) => {
    if (!ts.isCallExpression(call)) return [];
    const [, last] = call.arguments;
    const options = last && syntax.valueOf(last);
    return options && ts.isObjectLiteralExpression(options) ? [{ call, options }] : [];
  });
}

/**
 * Those of packages after the imports of packages, the others before the imports from the folder of the file.
 *
 * @param {Syntax} syntax
 * @param {readonly Import[]} added
 * @returns {readonly import('./syntax.js').Insertion[]}
 */
function importsInto(syntax, added) {
  /** @param {string} path */
  const isOfPackage = (path) => !path.startsWith('.');
  /**
   * @param {readonly Import[]} group
   * @param {(path: string) => boolean} isBefore
   * @returns {import('./syntax.js').Insertion}
   */
  const inserted = (group, isBefore) => {
    const { imports, eol } = syntax;
    const before = imports.findLast(({ moduleSpecifier }) =>
      isBefore(moduleSpecifier.getText().slice(1, -1)),
    );
    const example = /** @type {ts.ImportDeclaration} */ (before ?? imports[0]);
    const lines = group.map(({ name, path, isType }) => {
      const what = `import ${isType ? 'type ' : ''}{ ${name} }`;
      return eol + syntax.importLike(example, what, path);
    });
    return [syntax.endOfLine(example.end), lines.join('')];
  };
  return [
    inserted(
      added.filter(({ path }) => !isOfPackage(path)),
      (path) => !path.startsWith('./'),
    ),
    inserted(
      added.filter(({ path }) => isOfPackage(path)),
      isOfPackage,
    ),
  ];
}
