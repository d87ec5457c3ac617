/** @deprecated List `@resource-service/local/global-setup` in `globalSetup` of Vitest instead. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  return (await import('@resource-service/local/global-setup')).setup();
}
