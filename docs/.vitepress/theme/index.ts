import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

// The search of VitePress asks for these outside of `try`, and would not open where a browser blocks the data of sites.
if ('document' in globalThis) {
  for (const name of ['localStorage', 'sessionStorage']) {
    try {
      Reflect.get(globalThis, name);
    } catch {
      Object.defineProperty(globalThis, name, { value: null });
    }
  }
}

// VitePress, which reads this file, wants a default export.
// oxlint-disable-next-line import/no-default-export
export default DefaultTheme;
