import { currentToken } from './kept-token.js';
import { codeWithToken } from './samples.js';

/** Gives each block of code a button, which copies the code with the token. Only secure pages have a clipboard. */
export function addCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const block of root.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      void copy(codeWithToken(block.querySelector('code'), currentToken()), button);
    });
    block.append(button);
  }
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => (button.textContent = 'Copy'), 2_000);
}
