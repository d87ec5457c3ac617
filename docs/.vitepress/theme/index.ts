import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

// VitePress, which reads this file, wants a default export.
// oxlint-disable-next-line import/no-default-export
export default DefaultTheme;
