import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe objects to, in both schemes. */
export async function expectAccessible(page: Page, state: string): Promise<void> {
  const axe = await readFile(AXE, 'utf8');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe);
    const found = await page.evaluate(async () => {
      const { axe: checks } = globalThis as unknown as { axe: typeof import('axe-core') };
      const { violations } = await checks.run({
        runOnly: ['wcag2a', 'wcag2aa', 'best-practice'],
        resultTypes: ['violations'],
      });
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
      );
    });
    expect({ state, colorScheme, found }).toEqual({ state, colorScheme, found: [] });
  }
}
