import { Html, html } from './html.js';

export interface WebPage {
  readonly title: string;
  /** The relative path from the page to the base path, such as `../`. */
  readonly root: string;
  /** The current entry of the navigation. */
  readonly current: 'api' | 'docs';
  readonly main: Html;
  /** Additional style sheets and modules of JavaScript, by their names below `docs/`. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
}

const LOGO = new Html(`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#1b7a4b" />
  <path d="M16 26V15" fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round" />
  <path d="M16 17C8.500 17 6 12.500 6 7c6.500 0 10 3.500 10 10Z" fill="#fff" />
  <path d="M16 20c0-6.500 3.500-9 10-9 0 5.500-3 9-10 9Z" fill="#a9e5c4" />
</svg>`);

/** The logo as an image of its own. */
export const ICON = LOGO.source.replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');

/** Renders a page of the documentation. Its links are relative, so that it works below any path. */
export function renderPage(page: WebPage): string {
  const { title, root, current, main, styles = [], scripts = [] } = page;
  const isCurrent = (name: WebPage['current']) =>
    new Html(name === current ? ' aria-current="page"' : '');
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="theme-color" content="#1b7a4b" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="${root}docs/icon.svg" />
        ${['page.css', ...styles].map((name) => html`<link rel="stylesheet" href="${root}docs/${name}" /> `)}
      </head>
      <body>
        <header class="top">
          <a class="brand" href="${root}docs">${LOGO}Plant Store</a>
          <nav aria-label="Documentation">
            <a href="${root}docs" ${isCurrent('api')}>API</a>
            <a href="${root}docs/README.md" ${isCurrent('docs')}>Docs</a>
            <a href="${root}openapi.json">OpenAPI<span class="wide"> JSON</span></a>
            <a class="wide" href="${root}openapi.yaml">YAML</a>
          </nav>
        </header>
        ${main}
        <footer class="bottom">Plant Store, <a href="${root}docs/LICENSE">MIT licence</a></footer>
        ${scripts.map((name) => html`<script type="module" src="${root}docs/${name}"></script> `)}
      </body>
    </html> `.source;
}
