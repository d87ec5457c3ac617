/**
 * Code as HTML with its colors, and with marks around what the page fills in.
 *
 * @param base the address of the service, as far as it is known
 */
export function highlighted(
  code: string,
  language: 'curl' | 'TypeScript' | 'Python' | 'Go' | 'JSON',
  base?: string,
): string;
