import {
  chooseTab,
  currentToken,
  followToken,
  forgetToken,
  keeperOfToken,
  keepsInTab,
  keepToken,
  problemOf,
} from './kept-token.js';
import { BASE, fillInAddress, fillInToken } from './samples.js';

const dialog = document.querySelector('#token-dialog');
const form = dialog.querySelector('form');
const { token: field, tab, shown } = form.elements;
const send = dialog.querySelector('[data-sends]');

/** The form whose request was rejected, while the reader enters a token for it. */
let rejected;

/** Shows whether there is a token, and lets the reader enter, see and forget it. */
export function askForToken() {
  document.addEventListener('click', ({ target }) => {
    const button = target.closest('[data-opens="token"]');
    if (button) openDialog(button.closest('.try form') ?? undefined);
  });
  send.addEventListener('click', () => {
    dialog.close();
    rejected.requestSubmit();
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
  tab.checked = keepsInTab();
  tab.addEventListener('change', () => chooseTab(tab.checked));
  shown.addEventListener('change', showState);
  followToken(showState);
  showState();
}

function openDialog(sender) {
  rejected = sender;
  field.value = '';
  showProblem('');
  // The token that was rejected, if there was one, is of no use.
  showPart(rejected ? undefined : currentToken());
  dialog.showModal();
}

/** Puts the address of the service and the token into the code samples, as far as they are to be seen. */
export function fillInSamples() {
  fillInAddress();
  fillInToken(currentToken(), shown.checked);
}

/** Asks for a token, or says that there is one. */
function showPart(token) {
  const keeper = keeperOfToken();
  for (const text of dialog.querySelectorAll('[data-kept]')) {
    text.hidden = text.dataset.kept !== keeper;
  }
  dialog.querySelector('.with-token').hidden = !token;
  dialog.querySelector('.without-token').hidden = Boolean(token);
  send.hidden = !rejected;
  form.querySelector('.with-token [data-closes]').classList.toggle('primary', send.hidden);
}

function showState() {
  const token = currentToken();
  if (!token) shown.checked = false;
  fillInSamples();
  showPart(token);
  const button = document.querySelector('.token-button');
  button.textContent = token ? 'Token entered' : 'Enter a token';
  button.classList.toggle('set', Boolean(token));
  const signIn = document.querySelector('.sidebar [data-signs-in]');
  if (signIn) signIn.hidden = Boolean(token);
}

/** Tries what was entered, and keeps it if it is a token. */
async function keep() {
  // People copy it with spaces or with the scheme.
  const value = field.value.trim().replace(/^bearer\s+/i, '');
  const submit = form.querySelector('[type="submit"]');
  showProblem('');
  submit.disabled = true;
  const problem =
    value === '' ? 'Paste a token first.' : await problemOf(value, BASE + form.dataset.tries);
  submit.disabled = false;
  if (!dialog.open) return;
  if (problem) {
    showProblem(problem);
    return;
  }
  keepToken(value);
  showState();
  dialog.querySelector('.with-token .primary:not([hidden])').focus();
}

function showProblem(problem) {
  dialog.querySelector('.problem').textContent = problem;
}
