/*
 * Remembers the language of the code samples. It runs before the samples are drawn, so they do not change their places.
 */

const choices = document.querySelectorAll('[name="language"]');
for (const choice of choices) {
  choice.checked ||= choice.value === localStorage.getItem('language');
  choice.addEventListener('change', () => localStorage.setItem('language', choice.value));
}
