// @ts-check
import { SourceError } from './source-error.js';

/**
 * @import ts from 'typescript'
 * @typedef {typeof ts} Compiler
 * @typedef {readonly [at: number, text: string]} Insertion
 */

/** The syntax tree of a file that compiles. */
export class Syntax {
  /**
   * @param {Compiler} ts
   * @param {string} file as errors name it
   * @param {string} text
   * @throws {SourceError} if the compiler finds a mistake in the syntax
   */
  constructor(ts, file, text) {
    this.ts = ts;
    this.file = file;
    this.text = text;
    this.source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    const options = { fileName: file, reportDiagnostics: true, compilerOptions };
    const [mistake] = ts.transpileModule(text, options).diagnostics ?? [];
    if (mistake !== undefined) {
      const message = ts.flattenDiagnosticMessageText(mistake.messageText, ' ');
      throw new SourceError(`${this.#line(mistake.start ?? 0)} does not compile: ${message}`);
    }
  }

  /** @param {number} position */
  #line(position) {
    return `${this.file}:${this.source.getLineAndCharacterOfPosition(position).line + 1}`;
  }

  /**
   * @param {ts.Node} node
   * @param {string} problem
   */
  errorAt(node, problem) {
    return new SourceError(`${this.#line(node.getStart())} ${problem}`);
  }

  get imports() {
    return this.source.statements.filter(this.ts.isImportDeclaration);
  }

  /**
   * All nodes in a node, without comments.
   *
   * @param {ts.Node} node
   * @returns {Generator<ts.Node>}
   */
  *within(node = this.source) {
    yield node;
    /** @type {ts.Node[]} */
    const children = [];
    this.ts.forEachChild(node, (child) => void children.push(child));
    for (const child of children) yield* this.within(child);
  }

  /** @param {string} name */
  identifier(name) {
    return [...this.within()].find((node) => this.ts.isIdentifier(node) && node.text === name);
  }

  /**
   * Whether an expression is the import of this exported name, also under another local name.
   *
   * @param {ts.Expression} expression
   * @param {string} exported
   */
  isImported(expression, exported) {
    const { ts } = this;
    const inModule = ts.isPropertyAccessExpression(expression) && expression.name.text === exported;
    const named = inModule ? expression.expression : expression;
    if (!ts.isIdentifier(named)) return false;
    return this.imports.some(({ importClause }) => {
      const bindings = importClause?.namedBindings;
      if (inModule) {
        const namespace = bindings && ts.isNamespaceImport(bindings) ? bindings.name : undefined;
        return [namespace?.text, importClause?.name?.text].includes(named.text);
      }
      return (
        bindings !== undefined &&
        ts.isNamedImports(bindings) &&
        bindings.elements.some(
          ({ name, propertyName }) =>
            name.text === named.text && (propertyName ?? name).text === exported,
        )
      );
    });
  }

  /**
   * The calls of a method of an imported class, such as `FrameworkModule.forRoot()`.
   *
   * @param {string} exported
   * @param {string} method
   * @param {ts.Node} [node] to search in
   */
  callsOf(exported, method, node) {
    const { ts } = this;
    return [...this.within(node)]
      .filter(ts.isCallExpression)
      .filter(
        ({ expression }) =>
          ts.isPropertyAccessExpression(expression) &&
          expression.name.text === method &&
          this.isImported(expression.expression, exported),
      );
  }

  /** The classes with `@Module()`, and its call. */
  get modules() {
    const { ts } = this;
    return this.source.statements
      .filter(ts.isClassDeclaration)
      .flatMap((node) =>
        (ts.getDecorators(node) ?? []).flatMap(({ expression: call }) =>
          ts.isCallExpression(call) && this.isImported(call.expression, 'Module')
            ? [{ node, call }]
            : [],
        ),
      );
  }

  /**
   * Whether a statement of the file is a class that it exports.
   *
   * @param {ts.Node} node
   */
  isExportedClass(node) {
    const { ts } = this;
    if (!ts.isClassDeclaration(node)) return false;
    if (node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return true;
    return this.source.statements.some((statement) => {
      if (ts.isExportAssignment(statement))
        return statement.expression.getText() === node.name?.text;
      const clause = ts.isExportDeclaration(statement) && statement.exportClause;
      return (
        clause &&
        ts.isNamedExports(clause) &&
        clause.elements.some(
          ({ name, propertyName }) => (propertyName ?? name).text === node.name?.text,
        )
      );
    });
  }

  /**
   * The value without `(…)`, `as`, `satisfies` and `!`.
   *
   * @param {ts.Expression} expression
   * @returns {ts.Expression}
   */
  valueOf(expression) {
    const { ts } = this;
    return ts.isParenthesizedExpression(expression) ||
      ts.isAsExpression(expression) ||
      ts.isSatisfiesExpression(expression) ||
      ts.isTypeAssertionExpression(expression) ||
      ts.isNonNullExpression(expression)
      ? this.valueOf(expression.expression)
      : expression;
  }

  /**
   * @param {ts.ObjectLiteralExpression} object
   * @param {string} wanted
   */
  propertyOf(object, wanted) {
    const { ts } = this;
    return object.properties.findLast(({ name }) => {
      if (name === undefined) return false;
      const key = ts.isComputedPropertyName(name) ? name.expression : name;
      return (
        ((ts.isIdentifier(key) && key === name) || ts.isStringLiteralLike(key)) &&
        key.text === wanted
      );
    });
  }

  /**
   * After the comments on the same line.
   *
   * @param {number} position
   */
  endOfLine(position) {
    return this.ts.getTrailingCommentRanges(this.text, position)?.at(-1)?.end ?? position;
  }

  get eol() {
    return /\r?\n/.exec(this.text)?.[0] ?? '\n';
  }

  /**
   * Adds an item at the end of a list: on its own line, if the last item begins one.
   *
   * @param {{ readonly items: ts.NodeArray<ts.Node>, readonly start: number }} list `start`: after the opening bracket
   * @param {string} item
   * @returns {readonly Insertion[]}
   */
  inserted({ items, start }, item) {
    const { text, eol } = this;
    const last = items.at(-1);
    if (last === undefined) return [[start, item]];
    const line = text.lastIndexOf('\n', last.getStart() - 1) + 1;
    const indent = text.slice(line, last.getStart());
    if (line < start || /[^ \t]/.test(indent)) {
      return [[items.end, items.hasTrailingComma ? ` ${item},` : `, ${item}`]];
    }
    const comma = items.hasTrailingComma ? ',' : '';
    /** @type {Insertion} */
    const added = [this.endOfLine(items.end), `${eol}${indent}${item}${comma}`];
    // At the same position, the comma comes first: it is inserted last.
    return comma === '' ? [added, [items.end, ',']] : [added];
  }

  /** @param {readonly Insertion[]} insertions of those at the same position, the last comes first */
  withInserted(insertions) {
    return insertions
      .toSorted(([first], [second]) => second - first)
      .reduce(
        (result, [at, inserted]) => result.slice(0, at) + inserted + result.slice(at),
        this.text,
      );
  }

  /**
   * An import with the quotes of another one, and its semicolon.
   *
   * @param {ts.ImportDeclaration} example
   * @param {string} what such as `import { Tool }`
   * @param {string} path
   */
  importLike(example, what, path) {
    const quote = example.moduleSpecifier.getText().charAt(0);
    const semicolon = example.getText().endsWith(';') ? ';' : '';
    return `${what} from ${quote}${path}${quote}${semicolon}`;
  }
}
