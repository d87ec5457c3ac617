/* What is in the open forms stays in this tab, when the page is loaded anew and while the reader signs in elsewhere. */

import { inTab } from './storage.js';

const KEY = 'typed';

export function keepForms() {
  restore();
  addEventListener('pagehide', keep);
}

function keep() {
  const forms = [...document.querySelectorAll('.try[open] form')].map((form) => [
    form.dataset.name,
    [...new FormData(form)].filter(([, value]) => typeof value === 'string'),
  ]);
  if (forms.length === 0) inTab.remove(KEY);
  // It may be larger than what browsers keep.
  else inTab.write(KEY, forms);
}

function restore() {
  const kept = inTab.read(KEY);
  for (const [operation, fields] of Array.isArray(kept) ? kept : []) {
    const form = document.querySelector(`.try form[data-name="${CSS.escape(operation)}"]`);
    if (!form) continue;
    form.closest('details').open = true;
    // Several can have one name, in the order in which they were kept.
    const left = [...form.elements];
    for (const [name, value] of fields) {
      const at = left.findIndex((field) => field.name === name);
      if (at !== -1) left.splice(at, 1)[0].value = value;
    }
    form.dispatchEvent(new Event('input'));
  }
}
