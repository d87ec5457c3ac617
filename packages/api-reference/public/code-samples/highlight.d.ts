/**
 * Code as HTML with its colors, and with marks around what the page fills in.
 *
 * @param base the address of the service, as far as it is known
 */
export function highlighted(
  code: string,
  kind: 'shell' | 'program' | 'data',
  base?: string,
): string;
