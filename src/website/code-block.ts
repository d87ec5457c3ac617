import { Html, html } from './html.js';
import { PLACEHOLDERS } from './sample-request.js';

/** Code, of which a script can put in the address of the service and the token. It gets a button that copies it. */
export function codeBlock(code: string, language = ''): Html {
  const name = new Html(language === '' ? '' : html` data-sample="${language}"`.source);
  return html`<div class="code" ${name}>
    <pre><code>${withPlaceholders(code)}</code></pre>
  </div>`;
}

function withPlaceholders(code: string): Html {
  const { source } = html`${code}`;
  return new Html(
    Object.entries(PLACEHOLDERS).reduce(
      (filled, [name, value]) =>
        filled.replaceAll(value, `<span data-fill="${name}">${value}</span>`),
      source,
    ),
  );
}
