import { createHmac, generateKeyPair, randomUUID, sign } from 'node:crypto';
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { CompactSign } from 'jose';

export const AUDIENCE = 'tool-library-tests';

export interface TestKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public key as it stands in a key set. */
  readonly jwk: JsonWebKey;
}

/** Answers a request. `well` gives the normal answer. */
export type IssuerBehaviour = (response: ServerResponse, well: () => void) => void;

type Json = Readonly<Record<string, unknown>>;

const DISCOVERY_PATH = '/.well-known/openid-configuration';
const KEYS_PATH = '/keys';
const MOVED_PATH = '/moved';

export type IssuerDocument = 'discovery' | 'keys';

/** A token issuer that counts its requests and can be made to fail. */
export class TestIssuer {
  /** What it was asked for so far. Anything but its two documents is listed by its path. */
  readonly requests: string[] = [];
  /** What stands in its key set. */
  keys: readonly Json[];
  /** Replaces members of the discovery document. */
  discovery: Json = {};
  private readonly behaviours: Partial<Record<IssuerDocument, IssuerBehaviour>> = {};

  private constructor(
    private readonly server: Server,
    private readonly port: number,
    /** The path of its name, `''` or such as `/realms/tools/`. */
    private readonly path: string,
    /** The scopes of a valid token. */
    private readonly scope: string,
    /** The key it signs with. */
    public key: TestKey,
  ) {
    this.keys = [key.jwk];
    server.on('request', (request, response) => this.answer(request, response));
  }

  static async start({
    path = '',
    alg = 'ES256',
    scope = 'tools:read tools:write',
  } = {}): Promise<TestIssuer> {
    const key = await newKey(alg);
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new TestIssuer(server, (server.address() as AddressInfo).port, path, scope, key);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${this.path}`;
  }

  get jwksUri(): string {
    return `http://127.0.0.1:${this.port}${KEYS_PATH}`;
  }

  /** How often a document was asked for. */
  asked(document: string): number {
    return this.requests.filter((request) => request === document).length;
  }

  /** The claims of a valid token. Fields that are `undefined` are omitted. */
  claims(changes: Json = {}): Json {
    return {
      iss: this.url,
      aud: AUDIENCE,
      sub: 'gardener',
      scope: this.scope,
      iat: secondsFromNow(0),
      exp: secondsFromNow(600),
      ...changes,
    };
  }

  /** Signs a token, which is valid unless claims or header are changed. A text is signed unchanged. */
  token(
    claims: Json | string = {},
    { key = this.key, header = {} }: { readonly key?: TestKey; readonly header?: Json } = {},
  ): Promise<string> {
    const text = typeof claims === 'string' ? claims : JSON.stringify(this.claims(claims));
    return new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
      .sign(key.privateKey);
  }

  /** Signs with a new key from now on, and publishes only that key. */
  async rotate(alg = this.key.alg): Promise<void> {
    this.key = await newKey(alg);
    this.keys = [this.key.jwk];
  }

  behave(document: IssuerDocument, behaviour: IssuerBehaviour): void {
    this.behaviours[document] = behaviour;
  }

  recover(): void {
    delete this.behaviours.discovery;
    delete this.behaviours.keys;
  }

  /** Stops listening: connections are refused from now on. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    const document = this.documentAt(path);
    this.requests.push(document ?? path);
    if (document === undefined) {
      const moved = path.startsWith(MOVED_PATH)
        ? this.documentAt(path.slice(MOVED_PATH.length))
        : undefined;
      if (moved === undefined) response.writeHead(404).end();
      else this.answerWell(moved, response);
      return;
    }
    const behaviour = this.behaviours[document];
    if (behaviour === undefined) this.answerWell(document, response);
    else behaviour(response, () => this.answerWell(document, response));
  }

  private documentAt(path: string): IssuerDocument | undefined {
    if (path === KEYS_PATH) return 'keys';
    return path === `${this.path.replace(/\/$/, '')}${DISCOVERY_PATH}` ? 'discovery' : undefined;
  }

  private answerWell(document: IssuerDocument, response: ServerResponse): void {
    sendText(
      response,
      JSON.stringify(
        document === 'keys'
          ? { keys: this.keys }
          : { issuer: this.url, jwks_uri: this.jwksUri, ...this.discovery },
      ),
    );
  }
}

/** Ways in which an issuer can fail to give either of its documents. */
export const ISSUER_FAULTS: Readonly<Record<string, IssuerBehaviour>> = {
  'answers with status 500': (response) => void response.writeHead(500).end(),
  'answers with status 404': (response) => void response.writeHead(404).end(),
  'answers with nothing': (response) => void response.writeHead(204).end(),
  'answers with a web page': (response) => sendText(response, '<!doctype html><p>Sign in</p>'),
  'answers with malformed JSON': (response) => sendText(response, '{"keys":[{'),
  'answers with null': (response) => sendText(response, 'null'),
  'answers with an empty object': (response) => sendText(response, '{}'),
  'answers with members of the wrong type': (response) =>
    sendText(response, '{"issuer":1,"jwks_uri":[],"keys":{}}'),
  'redirects to an address that would answer well': (response) =>
    void response.writeHead(302, { Location: `${MOVED_PATH}${response.req.url}` }).end(),
  'hangs up': (response) => response.destroy(),
  'hangs up in the middle of its answer': (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' });
    response.write('{', () => response.destroy());
  },
};

/** Ways in which an issuer can hang. */
export const ISSUER_HANGS: Readonly<Record<string, IssuerBehaviour>> = {
  'never answers': () => {},
  'never ends its answer': (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write('{"keys":[');
  },
  'goes on answering for ever': (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    const drip = setInterval(() => response.write(' '), 20);
    response.once('close', () => clearInterval(drip));
  },
};

const generate = promisify(generateKeyPair);

/** Makes a key pair for a signature algorithm of JWS (RFC 7518, RFC 8037). */
export async function newKey(
  alg: string,
  {
    kid = randomUUID(),
    modulusLength = 2048,
  }: { readonly kid?: string; readonly modulusLength?: number } = {},
): Promise<TestKey> {
  const { privateKey, publicKey } = await pairFor(alg, modulusLength);
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
  return { alg, kid, privateKey, publicKey, jwk };
}

/** The same key pair under another id, published for another algorithm. */
export function republished(key: TestKey, alg: string): TestKey {
  const kid = randomUUID();
  return { ...key, alg, kid, jwk: { ...key.jwk, kid, alg } };
}

function pairFor(alg: string, modulusLength: number) {
  switch (alg) {
    case 'ES256':
      return generate('ec', { namedCurve: 'P-256' });
    case 'ES384':
      return generate('ec', { namedCurve: 'P-384' });
    case 'ES512':
      return generate('ec', { namedCurve: 'P-521' });
    case 'EdDSA':
    case 'Ed25519':
      return generate('ed25519');
    default:
      return generate('rsa', { modulusLength });
  }
}

/** A date as claims hold it (RFC 7519, section 2). */
export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds;
}

/**
 * Puts a token together that no library would make. Header and payload are written as JSON unless
 * they are texts already; without a signature the last part stays empty.
 */
export function forge(
  header: Json | string,
  payload: Json | string,
  signature: (input: Buffer) => Buffer = () => Buffer.alloc(0),
): string {
  const input = [header, payload]
    .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');
  return `${input}.${signature(Buffer.from(input)).toString('base64url')}`;
}

/** The signature of RS256 (RFC 7518, section 3.3), whatever the header says. */
export function rs256(privateKey: KeyObject): (input: Buffer) => Buffer {
  return (input) => sign('sha256', input, privateKey);
}

/** The signature of HS256, HS384 and HS512 (RFC 7518, section 3.2), whatever the header says. */
export function hmac(secret: string | Buffer, hash = 'sha256'): (input: Buffer) => Buffer {
  return (input) => createHmac(hash, secret).update(input).digest();
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
}
