import { usableCode } from './samples.js';
import { currentToken } from './token.js';

/** Gives each block of code a button. Only secure pages have a clipboard. */
export function addCopyButtons(root) {
  if (!navigator.clipboard) return;
  for (const block of root.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => void copy(block, button));
    block.append(button);
  }
}

async function copy(block, button) {
  try {
    const code = block.querySelector('code');
    await navigator.clipboard.writeText(usableCode(code, currentToken()));
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => (button.textContent = 'Copy'), 2_000);
}
