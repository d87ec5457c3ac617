import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { apiReference } from '@resource-service/api-reference';
import type { ReferenceFile } from '@resource-service/api-reference';

/** The pictures of the docs page in the README, by their color schemes. */
export const PICTURES = { light: 'docs-page.png', dark: 'docs-page-dark.png' } as const;

/** Chunk types of PNG (ISO/IEC 15948, section 11). */
const END = 'IEND';
const TEXT = 'tEXt';

/** What the text in a picture says, before the state of the page. */
const KEYWORD = 'Comment\0Shows the page ';

/** The docs page of a local start, without a service. */
export async function docsPage(): Promise<ReadonlyMap<string, ReferenceFile>> {
  const { version, homepage } = JSON.parse(await readFile('package.json', 'utf8')) as {
    readonly version: string;
    readonly homepage?: string;
  };
  return apiReference(await readFile('openapi.json', 'utf8'), { version, homepage });
}

/**
 * A hash of what the first screen of the page is made of: the page as far as its first operation, and how it looks. Pixels
 * depend on the fonts of a machine as well.
 */
export async function firstScreen(files: ReadonlyMap<string, ReferenceFile>): Promise<string> {
  const hash = createHash('sha256');
  for (const name of ['docs', 'docs/page.css', 'docs/reference.css', 'docs/icon.svg']) {
    const [beginning] = String(await files.get(name)!.content()).split('</article>', 1);
    hash.update(beginning!);
  }
  return hash.digest('hex');
}

/** A PNG with a text that says which state of the page it shows. */
export function withState(png: Buffer, state: string): Buffer {
  const content = Buffer.from(`${TEXT}${KEYWORD}${state}`, 'latin1');
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(content.length - TEXT.length);
  frame.writeUInt32BE(crc32(content), 4);
  // The length of the last chunk is before its type.
  const end = png.lastIndexOf(END) - 4;
  return Buffer.concat([
    png.subarray(0, end),
    frame.subarray(0, 4),
    content,
    frame.subarray(4),
    png.subarray(end),
  ]);
}

/** The state of the page that a PNG shows, as far as it says so. */
export function stateOf(png: Buffer): string | undefined {
  const place = png.indexOf(`${TEXT}${KEYWORD}`, 'latin1');
  if (place === -1) return undefined;
  const end = place + TEXT.length + png.readUInt32BE(place - 4);
  return png.toString('latin1', place + TEXT.length + KEYWORD.length, end);
}
