/*
 * Remembers the language of the code samples. It runs before the samples are drawn, so they do not change their places. So it is no
 * module, and imports none.
 */

const choices = document.querySelectorAll('[name="language"]');
for (const choice of choices) {
  choice.checked ||= choice.value === rememberedLanguage();
  choice.addEventListener('change', () => rememberLanguage(choice.value));
}

function rememberedLanguage() {
  try {
    return localStorage.getItem('language');
  } catch {
    return undefined;
  }
}

function rememberLanguage(language) {
  try {
    localStorage.setItem('language', language);
  } catch {
    // The browser keeps nothing for this site.
  }
}
