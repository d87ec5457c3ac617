/* What the docs page needs to sign in: the way to the page that does so, and back to what the reader was doing. */

import { inTab } from '../storage.js';

/** Whether the reader comes back from there, with forms that are open. */
const KEY = 'returns';

if (inTab.read(KEY)) showPlace();
inTab.remove(KEY);
document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-signs-in]');
  if (!button) return;
  if (document.querySelector('.try[open]')) inTab.write(KEY, true);
  const operation = button.closest('.try form')?.dataset.name;
  const place = document.querySelector('.sidebar [aria-current]')?.hash ?? '';
  location.assign(`docs/sign-in${operation ? `#${operation}` : place}`);
});

function showPlace() {
  const place = location.hash.slice(1);
  document.getElementById(place)?.scrollIntoView();
  // The request that was rejected can be sent at once.
  const form = document.querySelector(`.try[open] form[data-name="${CSS.escape(place)}"]`);
  form?.querySelector('[type="submit"]').focus({ preventScroll: true });
}
