import { readFileSync } from 'node:fs';

/** The document of a library of tools, with an id that a double cannot represent. */
export const TOOLS = readFileSync(new URL('tools.json', import.meta.url), 'utf8');
