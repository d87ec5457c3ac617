import { beginNow } from './begin-now.js';
import { showResponse } from './response.js';
import { authorization } from './kept-token.js';
import { BASE } from './samples.js';
import { fillInSamples } from './token.js';
import { problemOfHeader } from './unsent.js';

/** What scripts use of a form. In it, the field of this name would take its place (HTML, section 4.10.3). */
const OF_FORMS = new Set([
  'addEventListener',
  'append',
  'closest',
  'contains',
  'dataset',
  'dispatchEvent',
  'elements',
  'querySelector',
  'querySelectorAll',
  'requestSubmit',
]);

/** Lets the forms send their requests. */
export function addForms() {
  for (const field of document.querySelectorAll('.try [data-in]')) {
    field.dataset.parameter = field.name;
    if (OF_FORMS.has(field.name)) field.removeAttribute('name');
  }
  for (const form of document.querySelectorAll('.try form')) {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
    form.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      if (!submitOf(form).disabled) form.requestSubmit();
    });
    form.addEventListener('input', ({ target }) => {
      const { fills, own } = target.dataset;
      if (fills) (own === undefined ? parameterOf : ownOf)(form, fills).value = target.value;
      for (const field of form.querySelectorAll('[data-in="header"]')) {
        field.setCustomValidity(problemOfHeader(field.value));
      }
      void followForm(form);
    });
    form.querySelector('[data-begins]')?.addEventListener('click', ({ target }) => {
      void beginNow(form, target.dataset);
    });
  }
}

const submitOf = (form) => form.querySelector('[type="submit"]');

const parameterOf = (form, name) =>
  [...form.querySelectorAll('[data-in]')].find(({ dataset }) => dataset.parameter === name);

/** A field of the form itself. A parameter can have its name, too. */
const ownOf = (form, name) => form.querySelector(`[name="${name}"]:not([data-in])`);

/** Shows the request that would be sent as code. Who only reads does not load what writes it. */
async function followForm(form) {
  const { showAsCode } = await import('./form-samples.js');
  showAsCode(form, requestOf(form));
  fillInSamples();
}

async function send(form) {
  const cancel = ownOf(form, 'cancel');
  const submit = submitOf(form);
  const sending = new AbortController();
  const pressed = form.contains(document.activeElement) && document.activeElement.closest('button');
  const wentOn = pressed && 'goesOn' in pressed.dataset;
  submit.disabled = true;
  cancel.hidden = false;
  // A button that cannot be pressed, or is gone, loses the focus, and a reader without a mouse the place.
  if (pressed) cancel.focus();
  const ended = new AbortController();
  cancel.addEventListener('click', () => sending.abort(), { signal: ended.signal });
  try {
    await showResponse(form, requestOf(form), sending);
  } finally {
    ended.abort();
    submit.disabled = false;
    const next = wentOn && form.querySelector('[data-goes-on]:not([hidden])');
    // The response stays in sight.
    if (document.activeElement === cancel) (next || submit).focus({ preventScroll: true });
    cancel.hidden = true;
  }
}

function requestOf(form) {
  const [body, file, type] = ['body', 'file', 'content-type'].map((name) => ownOf(form, name));
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = authorization();
  if (type) headers['Content-Type'] = type.value;
  for (const field of form.querySelectorAll('[data-in]')) {
    const { dataset } = field;
    const name = dataset.parameter;
    const value = 'list' in dataset ? field.value.trim().replaceAll(/\s*,\s*/g, ',') : field.value;
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === '') continue;
    else if (dataset.in === 'query') query.append(name, value);
    else headers[name] = value;
  }
  return {
    url: `${BASE}${path}${query.size > 0 ? `?${query}` : ''}`,
    method: form.dataset.method,
    headers,
    ...(body && { body: file?.files[0] ?? body.value }),
  };
}
