import { resolve } from 'node:path';
import ts from 'typescript';
import type { Manifest } from './manifests.js';

/** Groups for which no package brings schemas. */
const UNKNOWN = new Set(['postgresql.cnpg.io/v1', 'barmancloud.cnpg.io/v1']);

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

function moduleOf({ apiVersion, kind }: Manifest): string {
  return apiVersion.startsWith('gateway.')
    ? `@kubernetes-models/gateway-api/${apiVersion}/${kind}`
    : `kubernetes-models/${apiVersion}/${kind}`;
}

/**
 * Holds manifests against the schemas of the API. These say what is wrong with a value, but like any other
 * field: whether a field is known at all, the types that are made of them tell.
 */
export async function mistakesIn(manifests: readonly Manifest[]): Promise<string[]> {
  const known = manifests.filter(({ apiVersion }) => !UNKNOWN.has(apiVersion));
  return [...(await wrongValues(known)), ...wrongFields(known)];
}

async function wrongValues(manifests: readonly Manifest[]): Promise<string[]> {
  const mistakes: string[] = [];
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest;
    const models = (await import(moduleOf(manifest))) as Record<
      string,
      new (data: object) => { validate(): void }
    >;
    try {
      new models[kind]!(manifest).validate();
    } catch (error) {
      mistakes.push(`${apiVersion} ${kind} ${metadata.name}: ${(error as Error).message}`);
    }
  }
  return mistakes;
}

/** As the compiler finds them in an object that is written down where its type is known. */
function wrongFields(manifests: readonly Manifest[]): string[] {
  const file = resolve('test/kubernetes/rendered.ts');
  const lines = manifests.map(
    (manifest, at) =>
      `export const manifest${at}: import('${moduleOf(manifest)}').I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const host = ts.createCompilerHost(OPTIONS);
  const readSource = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, lines.join('\n'), ts.ScriptTarget.ES2023)
      : readSource(name, ...rest);
  const program = ts.createProgram([file], OPTIONS, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
