import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { LARGE_DOCUMENT } from './sample-document.js';

/* A small service that keeps all promises, or breaks one on purpose. With a journal, its rows survive a kill:
   `node sample-service.js <port> <journal> [fault]` */

export const TOKEN = 'all-scopes';
export const READ_TOKEN = 'reading-only';
/** Of another owner: who creates a note owns it. */
export const OTHER_TOKEN = 'all-scopes-of-another-owner';
const TOKENS = new Set([TOKEN, READ_TOKEN, OTHER_TOKEN]);

/** Of HTTP, for the numbers of errors. */
const MESSAGES = { 400: 'malformed', 401: 'no token', 403: 'no scope', 404: 'not there' };

class Sample {
  rows = new Map();
  /** Tokens of notes. */
  owners = new Map();
  folders = new Map();
  /** What a read may return, instead of what is stored. */
  former = new Map();
  responses = new Map();
  changes = [];
  followers = new Set();
  lastId = 0;

  /**
   * @param {string} fault
   * @param {string | undefined} journal
   */
  constructor(fault, journal) {
    this.fault = fault;
    this.journal = journal;
    if (!journal || !existsSync(journal)) return;
    for (const line of readFileSync(journal, 'utf8').split('\n').slice(0, -1)) {
      this.apply(JSON.parse(line));
    }
  }

  /** Stores a change. It is one step, so that each kill finds all of it or nothing. */
  write(kind, id, note, key, body) {
    const change = { kind, id, note, key, body, position: this.changes.length + 1 };
    if (this.journal) appendFileSync(this.journal, `${JSON.stringify(change)}\n`);
    this.apply(change);
  }

  apply({ key, body, ...change }) {
    const { id, note } = change;
    this.lastId = Math.max(this.lastId, id);
    this.former.set(id, this.rows.get(id));
    if (note === undefined) this.rows.delete(id);
    else this.rows.set(id, note);
    if (key !== undefined) this.responses.set(key, { body, note });
    this.changes.push(change);
    if (this.fault === 'loses a change' && change.position % 7 === 0) return;
    for (const follower of this.followers) follower.write(eventOf(change));
  }

  async respond(request, response) {
    const url = new URL(request.url, 'http://sample');
    const [, name, key, part] = url.pathname.split('/');
    const isId = /^\w+$/.test(key ?? '') && key !== 'export' && key !== 'latest';
    const parameter = part === 'notes' ? '{folderId}' : '{id}';
    const pattern = isId ? parameter : key;
    const path = `/${[name, pattern, part].filter((each) => each !== undefined).join('/')}`;
    const { [path]: item } = LARGE_DOCUMENT.paths;
    if (this.fault === 'sends an HTML error' && !item) return html(response);
    if (!item) return this.reject(response, 404, 0);
    const operation = item[request.method.toLowerCase()];
    if (this.fault === 'hangs' && operation?.operationId === 'getNote') return undefined;
    if (!operation) return this.reject(response, 405, 0, { Allow: Object.keys(item).join() });
    const token = tokenOf(request);
    const isOpen = this.fault === 'has an open route' && operation.operationId === 'deleteNote';
    if (!TOKENS.has(token) && !isOpen) {
      const challenge = { 'WWW-Authenticate': 'Bearer realm="sample"' };
      return this.reject(response, 401, token === undefined ? 0 : 1, challenge);
    }
    const isReading = operation['x-required-scope'] === 'notes:read';
    if (token === READ_TOKEN && !isReading && this.fault !== 'ignores scopes') {
      const challenge = { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' };
      return this.reject(response, 403, 0, challenge);
    }
    return this[operation.operationId](request, response, url.searchParams, Number(key));
  }

  isOwn(request, id) {
    return (this.owners.get(id) ?? TOKEN) === tokenOf(request);
  }

  /** The note, unless it is of another owner. */
  noteOf(request, id) {
    return this.isOwn(request, id) ? this.rows.get(id) : undefined;
  }

  listNotes(request, response, query) {
    const isOpen = this.fault === 'lists notes of others';
    return this.listOf(response, query, ({ id }) => isOpen || this.isOwn(request, id));
  }

  listFolderNotes(request, response, query, folder) {
    if (Number.isNaN(folder)) return this.reject(response, 400, 4);
    const isMixed = this.fault === 'mixes folders';
    const isWanted = ({ id, folderId }) =>
      this.isOwn(request, id) && (isMixed || folderId === folder);
    const given = this.fault === 'repeats the folder in the Link' ? { folderId: folder } : {};
    return this.listOf(response, query, isWanted, given);
  }

  listOf(response, query, isWanted, given = {}) {
    if (!isValid(query, ['limit', 'after', 'sort', 'count', 'text'])) {
      return this.reject(response, 400, 4);
    }
    const [limit, isDown] = [Number(query.get('limit') ?? 50), query.get('sort') === '-id'];
    const wanted = [...this.rows.values()].filter(isWanted);
    const all = wanted.toSorted((one, other) => one.id - other.id);
    if (isDown) all.reverse();
    const [after, content] = [query.get('after'), query.get('text')];
    const isOffset = this.fault === 'pages by offset';
    const isLater = ({ id }) => (isDown ? id < Number(after) : id > Number(after));
    let rest = after === null ? all : all.filter(isLater);
    if (isOffset) rest = all.slice(Number(after ?? 0));
    const isFound = content !== null && this.fault !== 'filters wrongly';
    const found = rest.filter((note) => content === null || (isFound && note.text === content));
    const page = found.slice(0, limit);
    const isSkipping = this.fault === 'skips a row' && found.length > limit + 1;
    const last = isOffset ? Number(after ?? 0) + limit : found[limit - (isSkipping ? 0 : 1)]?.id;
    query.set('after', String(last));
    for (const [name, value] of Object.entries(given)) query.set(name, value);
    const link = found.length > limit ? { Link: `</notes?${query}>; rel="next"` } : {};
    const total = query.get('count') === 'true' ? { 'X-Total-Count': String(all.length) } : {};
    return send(response, 200, page, { ...link, ...total });
  }

  async createNote(request, response) {
    const body = await this.bodyOf(request, response, ['text', 'count']);
    if (body === undefined) return undefined;
    const key = request.headers['idempotency-key'];
    const known = this.responses.get(key);
    if (this.fault === 'loses a retry' && known) return this.reject(response, 422, 0);
    const isSame = known && JSON.stringify(known.body) === JSON.stringify(body);
    if (known && !isSame && this.fault !== 'reuses keys') return this.reject(response, 422, 0);
    if (known && this.fault !== 'repeats a retry') return send(response, 201, known.note);
    const id = this.lastId + 1;
    const note = { id, ...body };
    if (this.fault === 'alters a value') note.text = note.text.normalize('NFD').slice(0, 15);
    this.owners.set(id, tokenOf(request));
    this.write('created', id, note, key, body);
    return send(response, 201, note);
  }

  async createFolder(request, response) {
    const body = await this.bodyOf(request, response, ['text']);
    if (body === undefined) return undefined;
    const id = (this.lastId += 1);
    this.folders.set(id, { id, ...body });
    return send(response, 201, this.folders.get(id));
  }

  getFolder(request, response, _, id) {
    if (Number.isNaN(id)) return this.reject(response, 400, 4);
    return this.sendRow(request, response, this.folders.get(id));
  }

  deleteFolder(_, response, __, id) {
    if (Number.isNaN(id)) return this.reject(response, 400, 4);
    if (!this.folders.delete(id)) return this.reject(response, 404, 1);
    return response.writeHead(204).end();
  }

  exportNotes(request, response) {
    const isOpen = this.fault === 'exports notes of others';
    const rows = [...this.rows.values()].filter(({ id }) => isOpen || this.isOwn(request, id));
    const lines = (this.fault === 'exports too little' ? rows.slice(0, -1) : rows).map(
      (note) => `${JSON.stringify(note)}\n`,
    );
    return response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).end(lines.join(''));
  }

  getNote(request, response, _, id) {
    if (Number.isNaN(id)) return this.reject(response, 400, 4);
    const isStale = this.fault === 'reads what was' && this.changes.length % 3 === 0;
    const former = isStale && this.isOwn(request, id) ? this.former.get(id) : undefined;
    return this.sendRow(request, response, former ?? this.noteOf(request, id));
  }

  sendRow(request, response, row) {
    if (!row) return this.reject(response, 404, 1);
    const ETag = this.tagOf(row);
    if (request.headers['if-none-match'] === ETag) return response.writeHead(304).end();
    return send(response, 200, row, { ETag });
  }

  async patchNote(request, response, _, id) {
    const body = await this.bodyOf(request, response, []);
    if (body === undefined) return undefined;
    if (this.fault === 'rejects each patch') return this.reject(response, 400, 3);
    const isOpen = this.fault === 'changes notes of others';
    const note = isOpen ? this.rows.get(id) : this.noteOf(request, id);
    if (!this.isMet(request, response, note, id)) return undefined;
    if (this.fault === 'loses an update') await sleep(20);
    if (this.fault === 'has two winners' && request.headers['if-match']) await sleep(20);
    const current = this.fault === 'loses an update' ? note : this.rows.get(id);
    if (!current) return this.reject(response, 404, 1);
    const changed = { ...current, ...body };
    this.write('replaced', id, changed);
    return send(response, 200, changed, { ETag: this.tagOf(changed) });
  }

  deleteNote(request, response, _, id) {
    if (!this.isMet(request, response, this.noteOf(request, id), id)) return undefined;
    this.write('removed', id);
    return response.writeHead(204).end();
  }

  restoreNote(request, response, _, id) {
    if (Number.isNaN(id)) return this.reject(response, 400, 4);
    const stored = this.noteOf(request, id);
    const removed = this.isOwn(request, id) ? this.former.get(id) : undefined;
    const note = stored ?? removed;
    if (!note) return this.reject(response, 404, 1);
    if (this.fault === 'restores nothing') return send(response, 200, note);
    const isAltered = this.fault === 'restores another content' && !stored;
    const restored = isAltered ? { ...note, text: 'restored' } : note;
    if (!stored) this.write('created', id, restored);
    const status = this.fault === 'restores with the status 201' ? 201 : 200;
    return send(response, status, restored, { ETag: this.tagOf(restored) });
  }

  listChanges(request, response, query) {
    if (!isValid(query, ['after', 'limit'])) return this.reject(response, 400, 4);
    const after = Number(request.headers['last-event-id'] ?? query.get('after') ?? 0);
    const later = this.changes.filter(({ position }) => position > after);
    if (!request.headers.accept?.includes('event-stream')) return send(response, 200, later);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (const change of later) response.write(eventOf(change));
    this.followers.add(response);
    return response.on('close', () => this.followers.delete(response)).flushHeaders();
  }

  getLatest(_, response) {
    return send(response, 200, { position: this.changes.length });
  }

  isMet({ headers }, response, note, id) {
    if (Number.isNaN(id)) this.reject(response, 400, 4);
    else if (!note) this.reject(response, 404, 1);
    else {
      const { 'if-match': wanted } = headers;
      const isMet = wanted === undefined || wanted === this.tagOf(note);
      if (isMet || this.fault === 'ignores If-Match') return true;
      this.reject(response, 412, 0);
    }
    return false;
  }

  tagOf(note) {
    if (this.fault === 'keeps its ETags') return '"1"';
    const hash = createHash('sha256').update(JSON.stringify(note)).digest('hex');
    return this.fault === 'has weak ETags' ? `W/"${hash}"` : `"${hash}"`;
  }

  /** The body, unless it is rejected. */
  async bodyOf(request, response, required) {
    const body = await text(request);
    const isJson = request.headers['content-type'] === 'application/json';
    if (body === '') return this.reject(response, 400, 2);
    if (!isJson) return this.reject(response, 415, 0);
    let json;
    try {
      json = JSON.parse(body);
    } catch (error) {
      return this.reject(response, 400, 1, {}, error);
    }
    const isWhole = required.every((name) => name in json);
    const isTyped = [typeof json.text, typeof json.count].every((type) => type !== 'object');
    return isWhole && isTyped && !Array.isArray(json) ? json : this.reject(response, 400, 3);
  }

  reject(response, status, number, headers = {}, error = new Error(MESSAGES[status] ?? 'wrong')) {
    const isNew = this.fault === 'makes numbers up' && status === 404;
    const message = this.fault === 'shows its stack' ? error.stack : error.message;
    send(response, status, { error: status * 100 + (isNew ? 77 : number), message }, headers);
  }
}

function tokenOf(request) {
  return request.headers.authorization?.replace('Bearer ', '');
}

function isValid(query, names) {
  const isKnown = [...query.keys()].every((name) => names.includes(name));
  const numbers = ['limit', 'after'].map((name) => Number(query.get(name) ?? 1));
  const isFlag = [null, 'true', 'false'].includes(query.get('count'));
  return isKnown && numbers.every((each) => !Number.isNaN(each)) && isFlag;
}

function eventOf(change) {
  return `id: ${change.position}\ndata: ${JSON.stringify(change)}\n\n`;
}

function send(response, status, body, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function html(response) {
  response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not Found</h1>');
}

/** Starts the service. Returns its address, and what stops it. */
export async function startSample(fault = '', port = 0, journal) {
  const sample = new Sample(fault, journal);
  const server = createServer((request, response) => {
    sample.respond(request, response).catch(() => response.destroy());
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

if (process.argv[1] === import.meta.filename) {
  const [, , port, journal, fault] = process.argv;
  await startSample(fault, Number(port), journal);
}
