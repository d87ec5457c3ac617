// @ts-check
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { installedPackage } from '../../config/installed-package.js';
import { withListed } from './module-list.js';
import { withOption } from './repository-option.js';
import { SourceError } from './source-error.js';

/*
 * `@resource-service/framework/sources`, for commands that write sources of a service. In JavaScript, so that `npm run generate`
 * of this project needs no build.
 */

export { SourceError } from './source-error.js';

/**
 * @typedef {import('./module-list.js').Addition} Addition
 * @typedef {object} SourceFile
 * @property {string} file its path in the folder of the service
 * @property {string} text
 */

/**
 * The source of a module with more classes in its lists, and their imports. It is formatted if prettier is installed and the
 * file was formatted before; otherwise, all other text stays unchanged.
 *
 * @example
 * const text = await withAdditions('.', 'src/app.module.ts', [
 *   { list: 'imports', name: 'LoansModule', path: './loans/loans.module.js' },
 * ]);
 *
 * @param {string} root the folder of the service
 * @param {string} file its path in this folder
 * @param {readonly Addition[]} additions
 * @returns {Promise<string>}
 * @throws {SourceError} if a list is ambiguous, or the file does not compile
 */
export async function withAdditions(root, file, additions) {
  return withChanged(root, file, (compiler, before) =>
    additions.reduce((text, addition) => withListed(compiler, file, text, addition), before),
  );
}

/**
 * The source of a repository with another option, formatted like {@link withAdditions}.
 *
 * @param {string} root the folder of the service
 * @param {string} file its path in this folder
 * @param {import('./repository-option.js').RepositoryOption} option
 * @returns {Promise<string>}
 * @throws {SourceError} if the repository is not found, or has an option that excludes this one
 */
export async function withRepositoryOption(root, file, option) {
  return withChanged(root, file, (compiler, text) => withOption(compiler, file, text, option));
}

/**
 * @param {string} root
 * @param {string} file
 * @param {(compiler: import('./syntax.js').Compiler, text: string) => string} change
 */
async function withChanged(root, file, change) {
  const text = textOf(join(root, file), file);
  const changed = change(compilerOf(root), text);
  return formattedLike(root, join(root, file), { text, changed });
}

/**
 * Writes all files, or none if one cannot be written.
 *
 * @param {string} root
 * @param {{ readonly created: readonly SourceFile[], readonly changed: readonly SourceFile[] }} files `created` must not exist
 */
export function writeAll(root, { created, changed }) {
  /** @type {(() => void)[]} */
  const undo = [];
  try {
    for (const { file, text } of created) {
      const path = join(root, file);
      makeFolder(dirname(path), undo);
      create(path, text, undo);
    }
    const drafts = changed.map(({ file, text }) => {
      // Keeps links.
      const path = fs.realpathSync(join(root, file));
      const draft = `${path}.${process.pid}.tmp`;
      create(draft, text, undo);
      fs.chmodSync(draft, fs.statSync(path).mode);
      return { path, draft, before: fs.readFileSync(path) };
    });
    for (const { path, draft, before } of drafts) {
      fs.renameSync(draft, path);
      undo.push(() => fs.writeFileSync(path, before));
    }
  } catch (error) {
    for (const step of undo.toReversed()) {
      try {
        step();
      } catch {
        // The first error says more.
      }
    }
    throw error;
  }
}

/**
 * @param {string} folder
 * @param {(() => void)[]} undo
 */
function makeFolder(folder, undo) {
  if (fs.existsSync(folder)) return;
  makeFolder(dirname(folder), undo);
  fs.mkdirSync(folder);
  undo.push(() => fs.rmdirSync(folder));
}

/**
 * @param {string} path of a file that does not exist
 * @param {string} text
 * @param {(() => void)[]} undo
 */
function create(path, text, undo) {
  const file = fs.openSync(path, 'wx');
  undo.push(() => fs.rmSync(path, { force: true }));
  try {
    fs.writeFileSync(file, text);
  } finally {
    fs.closeSync(file);
  }
}

/**
 * @param {string} path
 * @param {string} file as errors name it
 */
function textOf(path, file) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(path));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new SourceError(`${file} is not encoded in UTF-8`, { cause: error });
  }
}

const INSTALL = 'npm install --save-dev typescript@~5.9';

/**
 * The compiler of the service: version 5 or 6, because later ones lack this interface.
 *
 * @param {string} root
 * @returns {import('./syntax.js').Compiler}
 */
function compilerOf(root) {
  let compiler;
  try {
    compiler = createRequire(import.meta.url)(installedPackage('typescript', root));
  } catch (cause) {
    throw new SourceError(`typescript is not installed: run "${INSTALL}"`, { cause });
  }
  if (typeof compiler.createSourceFile === 'function') return compiler;
  throw new SourceError(`typescript ${compiler.version} cannot be used here: run "${INSTALL}"`);
}

/**
 * @param {string} root
 * @param {string} path
 * @param {{ readonly text: string, readonly changed: string }} texts
 */
async function formattedLike(root, path, { text, changed }) {
  try {
    /** @type {typeof import('prettier')} */
    const { check, format, resolveConfig } = createRequire(import.meta.url)(
      installedPackage('prettier', root),
    );
    const config = await resolveConfig(path, { editorconfig: true });
    const options = /** @type {const} */ ({ ...config, filepath: path, endOfLine: 'auto' });
    return (await check(text, options)) ? await format(changed, options) : changed;
  } catch {
    // Prettier or one of its plugins is not installed.
    return changed;
  }
}
