import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { Provider } from 'oidc-provider';
import type { Configuration } from 'oidc-provider';
import { newKey, secondsFromNow } from '../../packages/framework/test/support/test-issuer.js';
import type { TestKey } from '../../packages/framework/test/support/test-issuer.js';

/** A resource indicator, because such an audience is sent in both ways. */
export const AUDIENCE = 'https://plants.example.com/';
export const CLIENT_ID = 'plant-store-docs';

/** A person who may only read. Everybody else has all scopes. */
export const READER = 'reader';

const SCOPES = ['plants:read', 'plants:write', 'gardens:read', 'gardens:write'];

/** What the tests change while the provider runs. */
export interface Behaviour {
  /** Of the access tokens. */
  audience: string;
  /** Whether pages of the docs page's origin may ask for a token. */
  allowsOrigin: boolean;
  /** Changes the address that leads back to the docs page. */
  change: (address: URL) => void;
}

const WELL: Behaviour = { audience: AUDIENCE, allowsOrigin: true, change: () => {} };

/** An OpenID provider that people sign in at: with pages, sessions, and one public client. */
export class SignInProvider {
  readonly behaviour: Behaviour = { ...WELL };
  /** The requests so far: the method, and the path with its query. */
  readonly requests: string[] = [];
  private answer: RequestListener | undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
    private readonly key: TestKey,
  ) {
    server.on('request', (request, response) => {
      this.requests.push(`${request.method} ${request.url}`);
      this.answer?.(request, response);
    });
  }

  /** Listens, so that its address is known. It has no client yet. */
  static async start(): Promise<SignInProvider> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    return new SignInProvider(server, `http://127.0.0.1:${port}`, await newKey('RS256'));
  }

  /** Registers the docs page. */
  register(...redirectUris: string[]): void {
    const { kid, alg, privateKey } = this.key;
    const key = { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
    const provider = new Provider(this.url, {
      ...this.configuration,
      clients: [
        {
          client_id: CLIENT_ID,
          token_endpoint_auth_method: 'none',
          redirect_uris: redirectUris,
        },
      ],
      jwks: { keys: [key] },
    });
    provider.use(async ({ response }, next) => {
      await next();
      const location: string | undefined = response.headers.location;
      if (!redirectUris.some((uri) => location?.startsWith(uri))) return;
      const address = new URL(location!);
      this.behaviour.change(address);
      response.set('Location', address.href);
    });
    this.answer = (request, response) => void provider.callback()(request, response);
  }

  /** A token that was valid until just now. */
  expiredToken(): Promise<string> {
    const { kid, alg, privateKey } = this.key;
    return new SignJWT({ scope: SCOPES.join(' ') })
      .setProtectedHeader({ alg, kid, typ: 'at+jwt' })
      .setIssuer(this.url)
      .setAudience(AUDIENCE)
      .setSubject('gardener')
      .setExpirationTime(secondsFromNow(-1))
      .sign(privateKey);
  }

  /** Behaves well again, and forgets the requests. */
  reset(): void {
    Object.assign(this.behaviour, WELL);
    this.requests.length = 0;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private get configuration(): Configuration {
    const { behaviour } = this;
    return {
      cookies: { keys: ['a key of the tests'] },
      pkce: { required: () => true },
      clientBasedCORS: () => behaviour.allowsOrigin,
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      ttl: { IdToken: 600, Session: 600, Grant: 600, Interaction: 600 },
      features: {
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: SCOPES.join(' '),
            audience: behaviour.audience,
            accessTokenTTL: 600,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
      formats: {
        customizers: {
          jwt: (_context, token, { payload }) => {
            if ('accountId' in token && token.accountId === READER) payload.scope = 'plants:read';
          },
        },
      },
    };
  }
}
