import { html } from './html.js';
import type { Html } from './html.js';
import type { Endpoint } from './reference-document.js';

/** Asks for the token. A script opens it, and tries the token by a request that changes nothing. */
export function tokenDialog(endpoints: readonly Endpoint[]): Html {
  // The last of a resource is that of a single row.
  const lookUp = endpoints.findLast(({ method }) => method === 'get')?.path ?? '/';
  return html`<dialog class="token-dialog" id="token-dialog" aria-labelledby="token-title">
    <form data-tries="${lookUp.replaceAll(/\{\w+\}/g, '0')}">
      <h2 id="token-title">Authorize</h2>
      <div class="without-token">
        <p>
          Every request needs one. <code>npm start</code> prints it; with
          <code>docker compose up</code>, it is in the log. Elsewhere, ask the operator of the
          service.
        </p>
        <label for="token">Token</label>
        <textarea
          id="token"
          name="token"
          rows="5"
          spellcheck="false"
          autocomplete="off"
          autocapitalize="off"
          aria-describedby="token-refusal"
        ></textarea>
        <p id="token-refusal" class="refusal" role="alert"></p>
        <div class="dialog-buttons">
          <button type="button" data-closes="token">Cancel</button>
          <button type="submit" class="primary">Authorize</button>
        </div>
      </div>
      <div class="with-token" hidden>
        <p>A token is set. This browser keeps it until you forget it.</p>
        <p>Code samples show dots in its place; what you copy has the token.</p>
        <label><input type="checkbox" name="shown" /> Show it in the code samples</label>
        <div class="dialog-buttons">
          <button type="button" name="forget">Forget</button>
          <button type="button" class="primary" data-closes="token">Close</button>
        </div>
      </div>
    </form>
  </dialog>`;
}
