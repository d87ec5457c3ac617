/* What the docs page needs to sign in: the way to the page that does so, and back to what the reader was doing. */

import { inTab } from '../storage.js';

const KEY = 'typed';

restoreTyped();
document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-signs-in]');
  if (!button) return;
  keepTyped();
  const operation = button.closest('.try form')?.dataset.name;
  const place = document.querySelector('.sidebar [aria-current]')?.hash ?? '';
  location.assign(`docs/sign-in${operation ? `#${operation}` : place}`);
});

/** Keeps what is in the open forms while this tab is at the issuer. */
function keepTyped() {
  const forms = [...document.querySelectorAll('.try[open] form')].map((form) => [
    form.dataset.name,
    [...new FormData(form)].filter(([, value]) => typeof value === 'string'),
  ]);
  // It may be larger than what browsers keep, and matters less than the sign-in.
  if (forms.length > 0) inTab.write(KEY, forms);
}

function restoreTyped() {
  const kept = inTab.read(KEY);
  const forms = Array.isArray(kept) ? kept : [];
  inTab.remove(KEY);
  for (const [operation, fields] of forms) {
    const form = document.querySelector(`.try form[data-name="${operation}"]`);
    if (!form) continue;
    form.closest('details').open = true;
    for (const [name, value] of fields) form.elements[name].value = value;
    form.dispatchEvent(new Event('input'));
  }
  const place = location.hash.slice(1);
  if (forms.length > 0) document.getElementById(place)?.scrollIntoView();
  // The request that was rejected can be sent at once.
  const form = document.querySelector(`.try[open] form[data-name="${CSS.escape(place)}"]`);
  form?.querySelector('[type="submit"]').focus({ preventScroll: true });
}
