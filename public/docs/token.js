import { BASE, codeWithToken, fillInToken } from './samples.js';

/** Swagger UI has its token there, too. */
const KEY = 'authorized';

const dialog = document.querySelector('#token-dialog');
const form = dialog.querySelector('form');
const { token: field, shown } = form.elements;

/** The token that this browser keeps, if any. */
export function currentToken() {
  return JSON.parse(localStorage.getItem(KEY) ?? '{}').bearerAuth?.value;
}

/** Code as it can be used: with the token itself. */
export function usableCode(code) {
  return codeWithToken(code, currentToken());
}

/** Shows whether there is a token, and lets the reader enter, see and forget it. */
export function askForToken() {
  document.addEventListener('click', ({ target }) => {
    if (target.closest('[data-opens="token"]')) openDialog();
  });
  dialog.querySelectorAll('[data-closes]').forEach((button) => {
    button.addEventListener('click', () => dialog.close());
  });
  form.elements.forget.addEventListener('click', () => {
    localStorage.removeItem(KEY);
    showState();
    dialog.close();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void keep();
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    form.requestSubmit();
  });
  shown.addEventListener('change', showState);
  // Another tab has changed it.
  addEventListener('storage', ({ key }) => {
    if (key === KEY) showState();
  });
  showState();
}

function openDialog() {
  field.value = '';
  refuse('');
  dialog.showModal();
}

function showState() {
  const token = currentToken();
  if (!token) shown.checked = false;
  fillInToken(token, shown.checked);
  dialog.querySelector('.with-token').hidden = !token;
  dialog.querySelector('.without-token').hidden = Boolean(token);
  const button = document.querySelector('.token-button');
  button.textContent = token ? 'Token is set' : 'Enter a token';
  button.classList.toggle('set', Boolean(token));
}

/** Tries what was entered, and keeps it if it is a token. */
async function keep() {
  // People copy it with spaces or with the scheme.
  const value = field.value.trim().replace(/^bearer\s+/i, '');
  const submit = form.querySelector('[type="submit"]');
  refuse('');
  submit.disabled = true;
  const problem = await problemOf(value);
  submit.disabled = false;
  if (!dialog.open) return;
  if (problem) {
    refuse(problem);
    return;
  }
  const schema = { type: 'http', scheme: 'bearer' };
  const bearerAuth = { name: 'bearerAuth', schema, value };
  localStorage.setItem(KEY, JSON.stringify({ bearerAuth }));
  showState();
  dialog.querySelector('.with-token .primary').focus();
}

function refuse(problem) {
  dialog.querySelector('.refusal').textContent = problem;
}

/** Why a token is not accepted, by a request that changes nothing. */
async function problemOf(token) {
  if (token === '') return 'Paste a token first.';
  try {
    const response = await fetch(BASE + form.dataset.tries, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    // It does not matter whether the row exists, or whether the token may look it up.
    if (response.ok || [400, 403, 404].includes(response.status)) return undefined;
    const { message } = await response.json();
    return response.status === 401
      ? `Wrong token: ${message}.`
      : `The service could not check the token: ${message}.`;
  } catch (error) {
    return `The token could not be sent: ${error.message}.`;
  }
}
