/**
 * The length of a parameter as the driver sends it, in characters or bytes.
 *
 * @throws TypeError for a value that the driver cannot send either, such as an object with a `bigint`
 */
export function parameterLength(parameter: unknown): number {
  if (typeof parameter === 'string') return parameter.length;
  if (parameter === null || parameter === undefined) return 0;
  if (ArrayBuffer.isView(parameter)) return parameter.byteLength;
  if (Array.isArray(parameter)) {
    return parameter.reduce<number>((sum, element) => sum + parameterLength(element) + 1, 0);
  }
  // The driver makes JSON of an object. A value without JSON has no length.
  if (typeof parameter === 'object') return JSON.stringify(parameter)?.length ?? 0;
  return (parameter as number | bigint | boolean).toString().length;
}
