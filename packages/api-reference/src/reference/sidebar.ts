import { html } from '../html.js';
import type { Html } from '../html.js';
import type { Group } from './document.js';
import { languageChoice } from './samples.js';

/** A part of the page with an address of its own. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly content: Html;
}

interface Contents {
  readonly sections: readonly Section[];
  readonly groups: readonly Group[];
  /** What belongs to no single operation. */
  readonly general: readonly Section[];
  readonly definitions: readonly Section[];
  readonly canSignIn: boolean;
}

/** What leads to each part of the page. Folded on narrow screens, also without JavaScript. */
export function referenceSidebar({
  sections,
  groups,
  general,
  definitions,
  canSignIn,
}: Contents): Html {
  return html`<aside class="sidebar" aria-label="Search and contents">
    <div class="sidebar-bar">
      <label class="menu"><input type="checkbox" /> <span>Contents</span></label>
      ${canSignIn && html`<button type="button" class="primary" data-signs-in>Sign in</button> `}
      <button type="button" class="token-button" data-opens="token">Enter a token</button>
    </div>
    <div class="sidebar-content">
      <input
        type="search"
        placeholder="Search (press /)"
        aria-label="Search operations, fields, error numbers and words"
        aria-keyshortcuts="/ Control+K Meta+K"
        autocomplete="off"
        spellcheck="false"
      />
      <p class="found unseen" role="status"></p>
      <ul class="results" aria-label="Results" hidden></ul>
      ${languageChoice()}
      <script src="docs/language.js"></script>
      <nav aria-label="Contents">
        ${linksTo(sections)}
        ${groups.map(
          ({ name, title, endpoints }) =>
            html`<a class="title" href="#tag-${name}">${title}</a>
              <ul>
                ${endpoints.map(
                  ({ operationId, method, summary }) =>
                    html`<li>
                      <a href="#${operationId}"
                        ><span class="method ${method}">${method.toUpperCase()}</span> ${summary}</a
                      >
                    </li> `,
                )}
              </ul> `,
        )}
        ${linksTo(general)}
        ${definitions.length > 0 && html`<a class="title" href="#schemas">Schemas</a>`}
        ${linksTo(definitions)}
      </nav>
    </div>
  </aside>`;
}

function linksTo(sections: readonly Section[]): Html {
  if (sections.length === 0) return html``;
  return html`<ul>
    ${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li> `)}
  </ul>`;
}
