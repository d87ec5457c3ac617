/** How far below the place that its address leads to the heading of the part that is read may be, in pixels. */
const TOLERANCE = 24;

const menu = document.querySelector('.menu input');
/** By the id of their heading, which can have spaces; a hash has them percent-encoded. */
const links = new Map(
  [...document.querySelectorAll('.sidebar nav a')].map((link) => [
    link.getAttribute('href').slice(1),
    link,
  ]),
);
const headings = [...links.keys()].map((id) => document.getElementById(id));

/** Marks the part that is read in the list of contents. */
export function followReader() {
  leadOldAddresses();
  addEventListener('hashchange', () => {
    leadOldAddresses();
    mark();
  });
  document.querySelector('.sidebar-content').addEventListener('click', ({ target }) => {
    if (target.closest('a')) menu.checked = false;
  });
  addEventListener('scroll', mark, { passive: true });
  mark();
}

function mark() {
  const current = links.get(readHeading().id);
  if (current.ariaCurrent) return;
  for (const link of links.values()) link.ariaCurrent = link === current ? 'location' : null;
  const list = current.closest('.sidebar-content');
  const { top, bottom } = current.getBoundingClientRect();
  const bounds = list.getBoundingClientRect();
  if (top < bounds.top || bottom > bounds.bottom) list.scrollTop += top - bounds.top - 100;
}

function readHeading() {
  const { scrollY, innerHeight } = window;
  const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 1;
  // Part and row: `createTool.40009`.
  const [hash] = location.hash.split('.');
  const wanted = headings.find(({ id }) => links.get(id).hash === hash);
  // The last parts are too near to the end of the page to get to the top of the screen.
  if (isAtEnd && wanted && !isRead(wanted)) return wanted;
  const read = headings.findLast(isRead) ?? headings[0];
  // Several may be beside each other.
  const beside = headings.filter((heading) => topOf(heading) === topOf(read));
  return beside.includes(wanted) ? wanted : beside[0];
}

function isRead(heading) {
  const { scrollMarginTop } = getComputedStyle(heading);
  return topOf(heading) < Number.parseFloat(scrollMarginTop) + TOLERANCE;
}

function topOf(heading) {
  return heading.getBoundingClientRect().top;
}

/** Earlier versions of the page, and Swagger UI, have `#operations-TAG-ID` and `#/TAG/ID`. */
function leadOldAddresses() {
  const [, id] = /^#(?:operations-|\/).*[-/](\w+)$/.exec(location.hash) ?? [];
  if (links.has(id)) location.replace(`#${id}`);
}
