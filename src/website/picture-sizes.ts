/** In CSS pixels. */
export interface Size {
  readonly width: string;
  readonly height: string;
}

/** The sizes of the SVG files among some files, by path, as their `viewBox` has them. */
export async function sizesOf(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<ReadonlyMap<string, Size>> {
  const sizes = new Map<string, Size>();
  for (const path of paths.filter((name) => name.endsWith('.svg'))) {
    const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(await read(path)) ?? [];
    if (width !== undefined && height !== undefined) sizes.set(path, { width, height });
  }
  return sizes;
}
