import { isEvents, isStream } from './media-types.js';

/** How much of the end of a response is read, in bytes. */
const END = 100_000;

/** Offers the next page, or what follows the last event or row of a response that has ended. */
export async function offerToGoOn(view, form, response, body) {
  const next = nextPage(response);
  if (next) {
    offer(view, 'Next page', () => {
      for (const field of form.querySelectorAll('[data-in="query"]')) {
        field.value = next.get(field.dataset.parameter) ?? '';
      }
    });
    return;
  }
  if (!isStream(response)) return;
  // As text, of which no digit is lost.
  const end = await body.slice(-END).text();
  const [id, name] = isEvents(response)
    ? [lastEvent(end), 'Last-Event-ID']
    : [lastRow(end), 'after'];
  const field = form.querySelector(`[data-in][name="${name}"]`);
  if (id === undefined || !field) return;
  view.querySelector('.last').textContent = `The last id is ${id}.`;
  offer(view, `Go on after ${id}`, () => (field.value = id));
}

/** The parameters of the next page (RFC 8288). */
function nextPage({ headers, url }) {
  const link = /<([^>]*)>[^,]*;\s*rel="?next\b/i.exec(headers.get('Link') ?? '');
  return link && new URL(link[1], url).searchParams;
}

/** The id of the last event that is complete. */
function lastEvent(end) {
  return [...end.matchAll(/^id: ?(.*)\n(?:.+\n)*\n/gm)].at(-1)?.[1];
}

/** The id of the last row that is complete. After an empty line there are no more. */
function lastRow(end) {
  return /"id":\s*"?([\w-]+)/.exec(end.split('\n').at(-2) ?? '')?.[1];
}

function offer(view, title, fillIn) {
  const button = view.querySelector('[data-goes-on]');
  button.textContent = title;
  button.hidden = false;
  button.addEventListener('click', () => {
    fillIn();
    const form = button.closest('form');
    form.dispatchEvent(new Event('input'));
    form.requestSubmit();
  });
}
