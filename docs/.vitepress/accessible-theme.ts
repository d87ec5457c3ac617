import { basename } from 'node:path';

/** The home page and the page of what does not exist are in no landmark. */
const asMain = [
  [/<template>\s*<div\b/, '<template><main '],
  [/<\/div>(?=\s*<\/template>\s*<style)/, '</main>'],
] as const;

/** What is to be replaced in the templates of the theme. Its slots and styles do not reach these faults. */
const REPLACEMENTS: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  'VPHome.vue': asMain,
  'NotFound.vue': asMain,
  'VPLocalSearchBox.vue': [
    // A button with a field and buttons in it.
    [
      /role="button"\s+:aria-owns="[^"]+"\s+aria-expanded="true"\s+aria-haspopup="listbox"/,
      'role="dialog" aria-modal="true"',
    ],
    // Options with links in them: the links become the options.
    [/(<li\s+v-for="[^"]+"\s+:key="p\.id")([^>]+)>\s*<a/, '$1 role="presentation"><a$2'],
    // Names of what can have none.
    [/<kbd(?= :aria-label)/g, '<kbd role="img"'],
  ],
};

/** A plugin of Vite that mends what axe finds in the theme. */
export const accessibleTheme = {
  name: 'accessible-theme',
  enforce: 'pre' as const,
  transform(code: string, id: string): string | undefined {
    return REPLACEMENTS[basename(id)]?.reduce((text, [fault, remedy]) => {
      if (!fault.test(text)) throw new Error(`the theme has another ${basename(id)} now: ${fault}`);
      return text.replace(fault, remedy);
    }, code);
  },
};
