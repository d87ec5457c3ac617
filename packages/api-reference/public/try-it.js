import { showAnswer } from './answer.js';
import { currentToken } from './kept-token.js';
import { BASE } from './samples.js';

/** Lets the forms send their requests. */
export function addForms() {
  for (const form of document.querySelectorAll('.try form')) {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void send(form);
    });
    form.addEventListener('change', ({ target }) => {
      if (target.dataset.fills) form.elements[target.dataset.fills].value = target.value;
    });
  }
}

async function send(form) {
  const { cancel } = form.elements;
  const submit = form.querySelector('[type="submit"]');
  const sending = new AbortController();
  const hadFocus = document.activeElement === submit;
  submit.disabled = true;
  cancel.hidden = false;
  // A button that cannot be pressed loses the focus, and a reader without a mouse the place.
  if (hadFocus) cancel.focus();
  const ended = new AbortController();
  cancel.addEventListener('click', () => sending.abort(), { signal: ended.signal });
  try {
    await showAnswer(form, requestOf(form), sending);
  } finally {
    ended.abort();
    submit.disabled = false;
    if (document.activeElement === cancel) submit.focus();
    cancel.hidden = true;
  }
}

function requestOf(form) {
  const { body, file, 'content-type': type } = form.elements;
  const token = currentToken();
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (type) headers['Content-Type'] = type.value;
  for (const { name, value, dataset } of form.querySelectorAll('[data-in]')) {
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
