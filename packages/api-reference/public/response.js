import { highlighted } from './code-samples/highlight.js';
import { addCopyButtons } from './copy.js';
import { curlOf } from './curl.js';
import { offerToGoOn } from './go-on.js';
import { indentedJson } from './indented-json.js';
import { isEvents, isJson, isStream } from './media-types.js';
import { isStale, reasonOf } from './unsent.js';

/** What the page shows at first, in colors, at most on request, and keeps for the download. In lines, characters and bytes. */
const LINES = 100;
const BEGINNING = 100_000;
const COLORED = 20_000;
const SHOWN = 1_000_000;
const KEPT = 100_000_000;

const template = document.querySelector('#response');

/** Sends a request, and shows its response while it arrives. */
export async function showResponse(form, request, sending) {
  const view = newView(form, request);
  const start = performance.now();
  const progress = view.querySelector('.progress');
  const parts = [];
  let size = 0;
  let state = '';
  let end = '';
  const tell = () => {
    const time = Math.round(performance.now() - start);
    const duration = time < 10_000 ? `${time} ms` : `${Math.round(time / 1_000)} s`;
    progress.textContent = `${state}${duration}, ${size.toLocaleString('en')} bytes${end}`;
  };
  const clock = setInterval(tell, 200);
  let response;
  try {
    response = await fetch(request.url, {
      ...request,
      // A 304 is a response for the reader, not for the cache.
      cache: 'no-store',
      signal: sending.signal,
    });
    showHead(view, response);
    const showEvents = isEvents(response) ? newestLines(view, tell) : () => undefined;
    reveal(view);
    state = isEvents(response) ? 'Following: ' : 'Receiving: ';
    for await (const chunk of chunksOf(response)) {
      parts.push(chunk);
      size += chunk.length;
      showEvents(chunk);
      if (size > KEPT) {
        sending.abort();
        end = '. The page keeps no more; curl has no such limit';
        break;
      }
    }
    if (isEvents(response) && end === '') end = '. Ended by the service';
  } catch (error) {
    if (sending.signal.aborted) end = '. Canceled';
    else if (response) showProblem(view, 'The connection broke before the end of the response.');
    else if (await isStale(request.body)) {
      showProblem(view, 'The file was changed or removed after you chose it. Choose it again.');
    } else showProblem(view, `No response. ${reasonOf(error)}.`);
  }
  clearInterval(clock);
  state = '';
  tell();
  if (!response || size === 0) return;
  const body = new Blob(parts);
  view.querySelector('.response-body').classList.remove('following');
  if (!isEvents(response)) await showBeginning(view, response, body);
  if (response.status >= 400) await showRemedy(view, form, body);
  await offerToGoOn(view, form, response, body);
  offerDownload(view, form, response, body);
  // Unless the reader has gone elsewhere meanwhile.
  const { top, bottom } = view.getBoundingClientRect();
  if (top < innerHeight && bottom > 0) reveal(view);
}

function reveal(view) {
  view.scrollIntoView({ block: 'nearest' });
}

/** Shows the end of a text while it arrives. */
function newestLines(view, shown) {
  const block = view.querySelector('.response-body pre');
  const code = block.querySelector('code');
  const cut = view.querySelector('.cut');
  const decoder = new TextDecoder();
  let text = '';
  let frame;
  const place = view.querySelector('.response-body');
  place.classList.add('following');
  place.hidden = false;
  return (chunk) => {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    if (lines.length > LINES) cut.textContent = `The newest ${LINES} lines. `;
    text = lines.slice(-LINES).join('\n').slice(-BEGINNING);
    // However often chunks arrive, and not while nobody sees the page.
    frame ??= requestAnimationFrame(() => {
      frame = undefined;
      // A reader who has scrolled up reads on.
      const isAtEnd = block.scrollTop + block.clientHeight > block.scrollHeight - 10;
      showCode(code, text);
      if (isAtEnd) block.scrollTop = block.scrollHeight;
      shown();
    });
  };
}

/** Not every browser can iterate over a body by itself. */
async function* chunksOf({ body }) {
  if (body === null) return;
  const reader = body.getReader();
  let { done, value } = await reader.read();
  while (!done) {
    yield value;
    ({ done, value } = await reader.read());
  }
}

function newView(form, request) {
  const view = template.content.cloneNode(true).firstElementChild;
  const before = form.querySelector('.live-response');
  const link = before?.querySelector('.download');
  if (link?.href) URL.revokeObjectURL(link.href);
  before?.remove();
  view.querySelector('.curl-command code').replaceChildren(curlOf(request));
  form.append(view);
  addCopyButtons(view);
  reveal(view);
  return view;
}

function showHead(view, response) {
  const status = view.querySelector('.status');
  status.textContent = `${response.status} ${response.statusText}`;
  status.classList.add(response.status < 400 ? 'success' : 'failure');
  if (response.status === 401) {
    const { expired } = view.querySelector('.problem').dataset;
    const isExpired = response.headers.get('WWW-Authenticate')?.includes('the token has expired');
    showProblem(
      view,
      (isExpired && expired) || 'The service accepts only requests with a valid token.',
    );
    for (const remedy of view.querySelectorAll('.hint button')) remedy.hidden = false;
  }
  const headers = [...response.headers].map((pair) => pair.join(': '));
  view.querySelector('.live-headers').textContent = headers.join('\n');
  view.querySelector('.response-headers').hidden = false;
}

function showProblem(view, text) {
  view.querySelector('.problem').textContent = text;
  view.querySelector('.hint').hidden = false;
}

/** Shows what the page says about the number of the error, and leads there. */
async function showRemedy(view, form, body) {
  const [, number] = /"error":\s*(\d+)/.exec(await body.slice(0, BEGINNING).text()) ?? [];
  const owners = [form.dataset.name, 'common-errors', 'other-errors'];
  const row = owners
    .map((owner) => document.getElementById(`${owner}.${number}`))
    .find((one) => one?.cells[2]?.textContent);
  if (!row) return;
  const link = document.createElement('a');
  link.href = `#${row.id}`;
  link.textContent = number;
  const remedy = row.cells[2].cloneNode(true).childNodes;
  view.querySelector('.remedy').replaceChildren(link, ': ', ...remedy, '.');
  view.querySelector('.hint').hidden = false;
}

/** Shows the beginning, and offers the rest. */
async function showBeginning(view, response, body) {
  const code = view.querySelector('.response-body code');
  const cut = view.querySelector('.cut');
  const all = view.querySelector('[name="all"]');
  const textOf = async (limit) => {
    const bytes = await body.slice(0, limit).arrayBuffer();
    // In a stream, a character that is cut off is left out.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const text = decoder.decode(bytes, { stream: true });
    return isJson(response) ? indentedJson(text) : text;
  };
  const lines = (await textOf(BEGINNING)).split('\n');
  const beginning = lines.slice(0, LINES).join('\n');
  if (isJson(response) || isStream(response)) showCode(code, beginning);
  else code.textContent = beginning;
  if (lines.length > LINES || body.size > BEGINNING) {
    cut.textContent = `The first ${Math.min(LINES, lines.length)} lines. `;
    all.hidden = false;
    all.textContent = body.size > SHOWN ? 'Show the first megabyte' : 'Show all';
    all.addEventListener('click', async () => {
      code.textContent = await textOf(SHOWN);
      cut.textContent = body.size > SHOWN ? 'The first megabyte. ' : '';
      all.hidden = true;
    });
  }
  view.querySelector('.response-body').hidden = false;
}

/** With colors, unless they would make the page slow. */
function showCode(code, text) {
  if (text.length > COLORED) code.textContent = text;
  else code.innerHTML = highlighted(text, 'JSON');
}

function offerDownload(view, form, response, body) {
  const link = view.querySelector('.download');
  link.href = URL.createObjectURL(body);
  const lines = isEvents(response) ? 'txt' : 'ndjson';
  link.download = `${form.dataset.name}.${isJson(response) ? 'json' : lines}`;
  link.hidden = false;
}
