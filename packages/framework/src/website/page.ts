import { html } from './html.js';
import type { Html } from './html.js';

export interface WebPage {
  /** For people. */
  readonly service: string;
  /** The address of the project's documents, if it has one. */
  readonly homepage: string | undefined;
  readonly title: string;
  /** The relative path from the page to the base path, such as `../`. */
  readonly root: string;
  readonly main: Html;
  /** The style sheet and the modules of JavaScript of this page, by their names below `docs/`. */
  readonly style: string;
  readonly scripts: readonly string[];
}

/** Renders a page. Its links are relative, so that it works below any path. */
export function renderPage({
  service,
  homepage,
  title,
  root,
  main,
  style,
  scripts,
}: WebPage): string {
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
        <header class="top">
          <a class="brand" href="${root}docs"
            ><img class="logo" src="${root}docs/icon.svg" alt="" />${service}</a
          >
          <nav aria-label="Documentation">
            <a href="${root}docs" aria-current="page">API</a>
            ${homepage && html`<a href="${homepage}">Docs</a>`}
            <a href="${root}openapi.json">OpenAPI<span class="wide"> JSON</span></a>
            <a class="wide" href="${root}openapi.yaml">YAML</a>
          </nav>
        </header>
        ${main}
        <footer class="bottom">${service}, MIT licence</footer>
        ${scripts.map((name) => html`<script type="module" src="${root}docs/${name}"></script> `)}
      </body>
    </html> `.source;
}
