import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from './contender.js';
import type { Contender } from './contender.js';

/* Yardsticks in other languages, which are built when they are asked for. */

const SOURCES = join(PROJECT, 'bench', 'yardsticks');
const CACHE = join(PROJECT, 'node_modules', '.cache', 'yardsticks');

interface Language {
  readonly title: string;
  readonly needs: string;
  readonly build: readonly [command: string, ...parameters: string[]];
  readonly binary: string;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  go: {
    title: 'Go: net/http + pgx',
    needs: 'Go 1.25 or newer, with `go` on the PATH',
    build: ['go', 'build', '-mod=readonly', '-o', join(CACHE, 'go', 'plants'), '.'],
    binary: join(CACHE, 'go', 'plants'),
  },
  rust: {
    title: 'Rust: axum + tokio-postgres',
    needs: 'Rust 1.88 or newer, with `cargo` on the PATH',
    build: [
      'cargo',
      'build',
      '--quiet',
      '--release',
      '--locked',
      '--target-dir',
      join(CACHE, 'rust'),
    ],
    binary: join(CACHE, 'rust', 'release', 'plants'),
  },
};

/**
 * Builds yardsticks.
 *
 * @param names separated by commas; an unknown language or a missing toolchain ends the process
 */
export async function buildNative(names = ''): Promise<Contender[]> {
  const contenders: Contender[] = [];
  for (const name of names.split(',').filter(Boolean)) {
    const language = LANGUAGES[name];
    if (language === undefined) {
      return refuse(`--with takes ${Object.keys(LANGUAGES).join(' and ')}, not ${name}`);
    }
    const [command, ...parameters] = language.build;
    await promisify(execFile)(command, parameters, { cwd: join(SOURCES, name) }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        refuse(`--with ${name} needs ${language.needs}`);
      },
    );
    contenders.push({ name, title: language.title, binary: language.binary });
  }
  return contenders;
}

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
