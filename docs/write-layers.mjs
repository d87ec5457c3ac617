import { readFile, writeFile } from 'node:fs/promises';
import { cruise } from 'dependency-cruiser';
import configuration, { FRAMEWORK, LAYERS } from '../.dependency-cruiser.mjs';

/*
 * Draws which layer of the framework imports which, into CONTRIBUTING.md. With `--check` it fails when the drawing there is
 * not up to date. An arrow that follows from others is left out.
 */

const FILE = new URL('../CONTRIBUTING.md', import.meta.url);
const DRAWING = /```mermaid\n[\s\S]*?```/;

const { output } = await cruise([FRAMEWORK], configuration.options, undefined, {
  tsConfig: { fileName: 'tsconfig.json' },
});
/** The layers that each layer imports from. */
const imports = new Map();
for (const { source, dependencies } of output.modules) {
  if (!source.startsWith(FRAMEWORK)) continue;
  const layer = layerOf(source);
  const others = imports.get(layer) ?? new Set();
  for (const { resolved } of dependencies) {
    if (resolved.startsWith(FRAMEWORK)) others.add(layerOf(resolved));
  }
  others.delete(layer);
  imports.set(layer, others);
}
const arrows = [...imports].flatMap(([from, others]) =>
  [...others]
    .filter((to) => ![...others].some((via) => via !== to && leadsTo(via, to)))
    .map((to) => `  ${from} --> ${to}`),
);
const sorted = arrows.toSorted((one, other) => one.localeCompare(other, 'en'));
const drawing = ['```mermaid', 'flowchart TD', ...sorted, '```'].join('\n');

const text = await readFile(FILE, 'utf8');
const drawn = text.replace(DRAWING, drawing);
if (drawn !== text && process.argv.includes('--check')) {
  process.stderr.write(
    'CONTRIBUTING.md: the drawing of the folders is out of date: npm run layers\n',
  );
  process.exitCode = 1;
} else {
  await writeFile(FILE, drawn);
}

/** Whether a layer imports from another one, if only by way of a third. */
function leadsTo(from, to, visited = new Set()) {
  if (visited.has(from)) return false;
  visited.add(from);
  const others = imports.get(from) ?? [];
  return [...others].some((other) => other === to || leadsTo(other, to, visited));
}

/** `app`, `cli` and what stands in `src` itself put the layers together. */
function layerOf(path) {
  return LAYERS.find((folder) => path.startsWith(`${FRAMEWORK}/${folder}/`)) ?? 'composition';
}
