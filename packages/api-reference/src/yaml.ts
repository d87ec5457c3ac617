/** Writes JSON as YAML, with the same digits. */
export async function toYaml(text: string): Promise<string> {
  // Few people ask for it, so no start has to load it.
  const yaml = await import('yaml');
  return yaml.stringify(yaml.parse(text, { intAsBigInt: true }), { lineWidth: 0 });
}
