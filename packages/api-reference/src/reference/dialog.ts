import { html } from '../html.js';
import type { Html } from '../html.js';
import { inlineMarkdown } from '../markdown.js';
import type { ReferenceOptions } from '../options.js';
import { trialOf } from './document.js';
import type { Endpoint } from './document.js';

/** Asks for the token. A script opens it, and tries the token by a request that changes nothing. */
export function tokenDialog(
  endpoints: readonly Endpoint[],
  { issuer, tokenHelp }: Pick<ReferenceOptions, 'issuer' | 'tokenHelp'>,
): Html {
  return html`<dialog class="token-dialog" id="token-dialog" aria-label="Access token">
    <form data-tries="${trialOf(endpoints)}">
      <div class="without-token">
        <h2>Enter a token</h2>
        ${issuer && signInOffer(issuer)}
        <p>
          Every request needs a token. ${inlineMarkdown(tokenHelp ?? 'Ask the operator for one.')}
        </p>
        <label for="token">Token</label>
        <textarea
          id="token"
          name="token"
          rows="5"
          spellcheck="false"
          autocomplete="off"
          autocapitalize="off"
          aria-describedby="token-problem"
        ></textarea>
        <label><input type="checkbox" name="tab" /> Keep the token in this tab only</label>
        <p id="token-problem" class="problem" role="alert"></p>
        <div class="dialog-buttons">
          <button type="button" data-closes="token">Cancel</button>
          <button type="submit" class="primary">Enter</button>
        </div>
      </div>
      <div class="with-token" hidden>
        <h2>Token entered</h2>
        <p data-kept="browser" hidden>This browser keeps it until you forget it.</p>
        <p data-kept="tab" hidden>This tab keeps it until you close the tab or forget it.</p>
        <p data-kept="page" hidden>
          This page keeps it until you leave it, because this browser keeps no data of this site.
        </p>
        <p>Code samples show dots in its place; what you copy has the token.</p>
        <label><input type="checkbox" name="shown" /> Show it in the code samples</label>
        <div class="dialog-buttons">
          ${issuer && html`<button type="button" data-signs-in>Sign in again</button> `}
          <button type="button" name="forget">Forget</button>
          <button type="button" class="primary" data-closes="token">Close</button>
          <button type="button" class="primary" data-sends hidden>Send the request</button>
        </div>
      </div>
    </form>
  </dialog>`;
}

function signInOffer(issuer: string): Html {
  return html`<div class="buttons">
      <button type="button" class="primary" data-signs-in>
        Sign in at ${new URL(issuer).host}
      </button>
    </div>
    <p>Or paste a token.</p>`;
}
