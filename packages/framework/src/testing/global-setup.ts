import { pathToFileURL } from 'node:url';
import type * as GlobalSetup from '@resource-service/local/global-setup';
import { installedPackage } from '../config/installed-package.js';

const NAME = '@resource-service/local/global-setup';

/** @deprecated List `@resource-service/local/global-setup` in `globalSetup` of Vitest instead. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Tests with a server of their own need no local one.
  if (process.env['TEST_DATABASE_URL']) return undefined;
  const local = (await import(NAME).catch(
    () => import(pathToFileURL(installedPackage(NAME)).href),
  )) as typeof GlobalSetup;
  return local.setup();
}
