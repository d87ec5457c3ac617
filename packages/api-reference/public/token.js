import { currentToken, followToken, forgetToken, keepToken, problemOf } from './kept-token.js';
import { BASE, fillInToken } from './samples.js';

const dialog = document.querySelector('#token-dialog');
const form = dialog.querySelector('form');
const { token: field, shown } = form.elements;

/** Shows whether there is a token, and lets the reader enter, see and forget it. */
export function askForToken() {
  document.addEventListener('click', ({ target }) => {
    if (target.closest('[data-opens="token"]')) openDialog();
  });
  dialog.querySelectorAll('[data-closes]').forEach((button) => {
    button.addEventListener('click', () => dialog.close());
  });
  form.elements.forget.addEventListener('click', () => {
    forgetToken();
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
  followToken(showState);
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
  const problem =
    value === '' ? 'Paste a token first.' : await problemOf(value, BASE + form.dataset.tries);
  submit.disabled = false;
  if (!dialog.open) return;
  if (problem) {
    refuse(problem);
    return;
  }
  keepToken(value);
  showState();
  dialog.querySelector('.with-token .primary').focus();
}

function refuse(problem) {
  dialog.querySelector('.refusal').textContent = problem;
}
