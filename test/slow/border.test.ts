import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/** What the compiler says of a file with this text, with the options of a build. */
function compile(config: string, name: string, text: string): string {
  const file = resolve(name);
  const parsed = ts.getParsedCommandLineOfConfigFile(config, undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
      throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
  })!;
  const options = { ...parsed.options, noEmit: true, composite: false, incremental: false };
  const host = ts.createCompilerHost(options);
  const { sys } = ts;
  host.fileExists = (path) => path === file || sys.fileExists(path);
  host.readFile = (path) => (path === file ? text : sys.readFile(path));
  const program = ts.createProgram([file], options, host);
  const messages = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  return messages.join('\n');
}

describe('the packages', () => {
  it('name no plant', () => {
    const files = ['packages', ':!packages/*/build'];
    // Without a hit, git exits with 1.
    const { stdout, status } = spawnSync('git', [
      'grep',
      '-il',
      '--untracked',
      'plant',
      '--',
      ...files,
    ]);
    expect([String(stdout), status]).toEqual(['', 1]);
  });

  it('are imported through their public interfaces: Node.js refuses a path into the reference', () => {
    const importing = (path: string) =>
      spawnSync('node', ['--eval', `require.resolve('@resource-service/api-reference${path}')`]);
    expect(String(importing('/src/html.js').stderr)).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
    expect(importing('/package.json').status).toBe(0);
  });
});

describe('the framework', () => {
  it('is imported through its public interface: Node.js refuses a path into it', () => {
    const importing = (path: string) =>
      spawnSync('node', ['--eval', `require.resolve('@resource-service/framework${path}')`]);
    expect(String(importing('/src/service.js').stderr)).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
    expect(String(importing('/build/service.js').stderr)).toContain(
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    );
    expect(importing('/package.json').status).toBe(0);
  });

  it('is imported through its public interface: the compiler refuses a path into it', () => {
    const fromSource = (path: string) =>
      compile('tsconfig.build.json', 'src/wrong.ts', `import '${path}';`);
    expect(fromSource('@resource-service/framework/src/json/quote.js')).toContain(
      "side-effect import of '@resource-service/framework/src/json/quote.js'",
    );
    expect(fromSource('../packages/framework/src/json/quote.js')).toContain(
      "is not under 'rootDir'",
    );
    expect(fromSource('./identity.js')).toBe('');
  });

  it('does not import the service: the compiler refuses it', () => {
    const fromFramework = (path: string) =>
      compile(
        'packages/framework/tsconfig.json',
        'packages/framework/src/wrong.ts',
        `import '${path}';`,
      );
    expect(fromFramework('../../../src/identity.js')).toContain("is not under 'rootDir'");
    expect(fromFramework('./json/quote.js')).toBe('');
  });
});

describe('the reference of an API', () => {
  it('does not import the framework: the compiler refuses it', () => {
    const fromReference = (path: string) =>
      compile(
        'packages/api-reference/tsconfig.json',
        'packages/api-reference/src/wrong.ts',
        `import '${path}';`,
      );
    expect(fromReference('../../framework/src/json/quote.js')).toContain("is not under 'rootDir'");
    expect(fromReference('./html.js')).toBe('');
  });
});
