const MOST = 30;

/** Looks for operations, fields and error numbers. Everything with an address of its own is found. */
export function addSearch() {
  const field = document.querySelector('[type="search"]');
  const list = document.querySelector('.results');
  const navigation = document.querySelector('.sidebar nav');
  const entries = [...document.querySelectorAll('main [id]')].map(entryOf);
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries
      .filter(({ text }) => words.every((word) => text.includes(word)))
      .toSorted((one, other) => rank(one, words) - rank(other, words));
    list.hidden = words.length === 0;
    navigation.hidden = !list.hidden;
    list.replaceChildren(...found.slice(0, MOST).map(itemOf));
    if (found.length === 0) list.textContent = 'Nothing found';
  });
}

/** A row of a table belongs to the heading before the dot of its id. */
function entryOf(place) {
  const [owner] = place.id.split('.');
  const name = (place.cells?.[0] ?? place).textContent.trim();
  const titles = [document.getElementById(owner), place.closest('details')?.firstElementChild];
  const heading = place.cells ? titles.flatMap((title) => title?.textContent ?? []).join(', ') : '';
  const rest = place.cells ? place.textContent : (place.nextElementSibling?.textContent ?? '');
  return { id: place.id, name, heading, text: `${name} ${place.id} ${rest}`.toLowerCase() };
}

/** Names that begin with what is looked for come first. */
function rank({ name, heading }, [word]) {
  if (!name.toLowerCase().startsWith(word)) return heading === '' ? 1 : 2;
  return 0;
}

function itemOf({ id, name, heading }) {
  const link = document.createElement('a');
  link.href = `#${id}`;
  link.textContent = heading === '' ? name : `${name}, ${heading}`;
  const item = document.createElement('li');
  item.append(link);
  return item;
}
