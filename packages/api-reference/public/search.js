const MOST = 30;

/** What others call an operation. */
const SYNONYMS = { POST: 'add insert', PUT: 'update', PATCH: 'update edit' };

const field = document.querySelector('[type="search"]');
const list = document.querySelector('.results');
const found = document.querySelector('.found');
const menu = document.querySelector('.menu input');
const navigation = document.querySelector('.sidebar nav');

/** Looks for operations, fields, error numbers and words. Everything with an address of its own is found. */
export function addSearch() {
  const entries = [...document.querySelectorAll('main [id]:not(small)')].map(entryOf);
  field.addEventListener('input', () => show(entries));
  document.addEventListener('keydown', (event) => {
    if (!opensSearch(event)) return;
    event.preventDefault();
    menu.checked = true;
    field.focus();
    field.select();
  });
  document.querySelector('.sidebar-content').addEventListener('keydown', move);
}

function opensSearch({ key, ctrlKey, metaKey, altKey, target }) {
  if (document.querySelector('dialog[open]')) return false;
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k' && !altKey;
  return key === '/' && !target.closest('input, select, textarea');
}

function show(entries) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.hidden = words.length === 0;
  navigation.hidden = !list.hidden;
  found.textContent = '';
  if (list.hidden) return;
  const exact = findAll(entries, words, formsOf);
  const results = exact.length > 0 ? exact : findAll(entries, words, misspellingsOf);
  list.replaceChildren(...results.slice(0, MOST).map(itemOf));
  if (results.length === 0) list.innerHTML = '<li>Nothing found</li>';
  found.textContent = `${results.length} found`;
}

/** The entries that have a beginning of each word, the best first. */
function findAll(entries, words, patternOf) {
  const patterns = words.map((word) => new RegExp(String.raw`(?<![a-z\d])(?:${patternOf(word)})`));
  return entries
    .filter(({ text }) => patterns.every((pattern) => pattern.test(text)))
    .toSorted((one, other) => rank(one, words, patterns) - rank(other, words, patterns));
}

/** A pattern for the beginnings of words of the same stem: retry and retries, page and pagination. */
function formsOf(word) {
  return word
    .replaceAll(/[^\w\s]/g, String.raw`\$&`)
    .replace(/(?<=\w{3})(?:y|ies|ied)$/, '(?:y|ies|ied)')
    .replace(/(?<=\w{3})(?:inations?|ions?|ings?|e?s|ed|e)$/, '');
}

/** A pattern for a word of which one letter is missing, wrong, or too much, or has changed places with the next. */
function misspellingsOf(word) {
  if (!/^[a-z]{4,}$/.test(word)) return formsOf(word);
  const mistakes = Array.from(word, (letter, index) => {
    const [before, after] = [word.slice(0, index), word.slice(index + 1)];
    const swapped = after && `|${before}${after[0]}${letter}${after.slice(1)}`;
    return String.raw`${before}\w?${after}|${before}\w${letter}${after}${swapped}`;
  });
  return [formsOf(word), ...mistakes].join('|');
}

/** Moves with the arrows between the field and what is found; Enter goes to the first, and Escape closes the search. */
function move(event) {
  const links = [...list.querySelectorAll('a')];
  const places = [field, ...links];
  const place = places.indexOf(document.activeElement);
  if (place === -1) return;
  if (event.key === 'ArrowDown') places[place + 1]?.focus();
  else if (event.key === 'ArrowUp') places[place - 1]?.focus();
  else if (event.key === 'Enter' && place === 0) links[0]?.click();
  else if (event.key === 'Escape') close();
  else return;
  // The key on a link does what it does on any.
  event.preventDefault();
}

function close() {
  field.value = '';
  field.dispatchEvent(new Event('input'));
  menu.checked = false;
  document.activeElement.blur();
}

/** A row of a table belongs to the heading before the dot of its id. */
function entryOf(place) {
  const [owner] = place.id.split('.');
  const name = (place.cells?.[0] ?? place).textContent.trim();
  const titles = [document.getElementById(owner), place.closest('details')?.firstElementChild];
  const heading = place.cells ? titles.flatMap((title) => title?.textContent ?? []).join(', ') : '';
  const rest = place.cells ? place.textContent : proseOf(place);
  // The words of a name such as `afterValue` are found, too.
  const words = name.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' ');
  const title = `${name} ${words}`.toLowerCase();
  return { id: place.id, name, heading, title, text: `${title} ${place.id} ${rest}`.toLowerCase() };
}

/** What is said below a heading, without the tables, whose rows are found by themselves. */
function proseOf(heading) {
  const part = heading.closest('.operation');
  if (part) {
    const said = part.querySelectorAll(
      '.endpoint, .reference-text > :not(.fields, .errors, .headers, .schema, .note, details)',
    );
    const method = part.querySelector('.method').textContent;
    return [...said, SYNONYMS[method]].map((one) => one?.textContent ?? one).join(' ');
  }
  let text = '';
  for (let next = heading.nextElementSibling; next?.matches('p, ul, ol, div');) {
    text += ` ${next.textContent}`;
    next = next.nextElementSibling;
  }
  return text;
}

/** Names that begin with what is looked for come first, then other names; and sections before rows, of which numbers come last. */
function rank({ name, title, heading }, [word], [pattern]) {
  const place = title.startsWith(word) ? 0 : pattern.test(title) ? 1 : 2;
  const kind = heading === '' ? 0 : /^\d+$/.test(name) ? 2 : 1;
  return place * 3 + kind;
}

function itemOf({ id, name, heading }) {
  const link = document.createElement('a');
  link.href = `#${id}`;
  link.textContent = heading === '' ? name : `${name}, ${heading}`;
  const item = document.createElement('li');
  item.append(link);
  return item;
}
