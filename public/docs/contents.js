/** A part is read when its heading is above this height: below the bar of narrow screens. */
const TOP = 130;

const menu = document.querySelector('.menu input');
const links = new Map(
  [...document.querySelectorAll('.sidebar nav a')].map((link) => [link.hash.slice(1), link]),
);
const headings = [...links.keys()].map((id) => document.getElementById(id));

/** Marks the part that is read in the list of contents. */
export function followReader() {
  leadOldAddresses();
  addEventListener('hashchange', leadOldAddresses);
  document.querySelector('.sidebar-content').addEventListener('click', ({ target }) => {
    if (target.closest('a')) menu.checked = false;
  });
  addEventListener('scroll', mark, { passive: true });
  mark();
}

function mark() {
  const isAbove = (heading) => heading.getBoundingClientRect().top < TOP;
  const current = links.get((headings.findLast(isAbove) ?? headings[0]).id);
  if (current.ariaCurrent) return;
  for (const link of links.values()) link.ariaCurrent = link === current ? 'location' : null;
  const list = current.closest('.sidebar-content');
  const { top, bottom } = current.getBoundingClientRect();
  const bounds = list.getBoundingClientRect();
  if (top < bounds.top || bottom > bounds.bottom) list.scrollTop += top - bounds.top - 100;
}

/** Earlier versions of the page, and Swagger UI, have `#operations-TAG-ID` and `#/TAG/ID`. */
function leadOldAddresses() {
  const [, id] = /^#(?:operations-|\/).*[-/](\w+)$/.exec(location.hash) ?? [];
  if (links.has(id)) location.replace(`#${id}`);
}
