import { html } from './html.js';
import type { Html } from './html.js';
import type { ApiDocument } from './reference/document.js';

export interface WebPage {
  /** What the API says of itself. */
  readonly info: ApiDocument['info'];
  /** The address of other documents, if there are any. */
  readonly homepage: string | undefined;
  readonly title: string;
  /** The relative path from the page to the base path, such as `../`. */
  readonly root: string;
  /** What the names of the pages end with. */
  readonly extension?: string;
  /** An element `main` with the id `main`. */
  readonly main: Html;
  /** The style sheet and the modules of JavaScript of this page, by their names below `docs/`. */
  readonly style: string;
  readonly scripts: readonly string[];
}

/** Renders a page. Its links are relative, so that it works below any path. */
export function renderPage({
  info,
  homepage,
  title,
  root,
  extension = '',
  main,
  style,
  scripts,
}: WebPage): string {
  const licence = info.license && `, ${info.license.name} licence`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="theme-color" content="#1b7a4b" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="${root}docs/icon.svg" />
        <link rel="stylesheet" href="${root}docs/page.css" />
        <link rel="stylesheet" href="${root}docs/${style}" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="${root}docs${extension}"
            ><img class="logo" src="${root}docs/icon.svg" alt="" />${info.title}</a
          >
          <nav aria-label="Documentation">
            <a href="${root}docs${extension}" aria-current="page">API</a>
            ${homepage && html`<a href="${homepage}">Docs</a>`}
            <a href="${root}openapi.json">OpenAPI<span class="wide"> JSON</span></a>
            <a class="wide" href="${root}openapi.yaml">YAML</a>
          </nav>
        </header>
        ${main}
        <footer class="bottom">${info.title}${licence}</footer>
        ${scripts.map((name) => html`<script type="module" src="${root}docs/${name}"></script> `)}
      </body>
    </html> `.source;
}
