import { currentToken } from './kept-token.js';
import { codeWithToken } from './samples.js';

/** Gives each block of code a button, which copies the code with the token. Only secure pages have a clipboard. */
export function addCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const block of root.querySelectorAll('.code')) block.append(buttonOf(block));
}

function buttonOf(block) {
  const operation = block.closest('.operation')?.querySelector('h3').textContent;
  const what = document.createElement('span');
  what.className = 'unseen';
  what.textContent = ` ${[block.dataset.title, operation].filter(Boolean).join(', ')}`;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  // Says what has become of it.
  button.setAttribute('aria-live', 'polite');
  button.append('Copy', what);
  button.addEventListener('click', () => {
    void copy(codeWithToken(block.querySelector('code'), currentToken()), button.firstChild);
  });
  return button;
}

async function copy(text, label) {
  try {
    await navigator.clipboard.writeText(text);
    label.data = 'Copied';
  } catch {
    label.data = 'Not allowed';
  }
  setTimeout(() => (label.data = 'Copy'), 2_000);
}
