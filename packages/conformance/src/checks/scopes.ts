import { operationsOf } from '@resource-service/client/document';
import type { DocumentedOperation, OpenApiDocument } from '@resource-service/client/document';
import { check } from '../check.js';
import type { Check } from '../check.js';
import type { TestedService } from '../tested-service.js';
import { NotApplicable, verify } from '../violation.js';
import { nameOf, pathOf, verifyError } from './errors.js';

/** The checks of which token each operation needs. Their requests change nothing: they lack a body, or the row of their id. */
export function scopeChecks(document: OpenApiDocument): readonly Check[] {
  const operations = operationsOf(document).filter((each) => scopesOf(each).length > 0);
  const readScopes = new Set(operations.filter(({ method }) => method === 'get').flatMap(scopesOf));
  return operations.flatMap((documented) => [
    check(`tokens: ${nameOf(documented)} needs one`, async (service) => {
      for (const token of [null, 'not-a-token']) {
        const exchange = await send(service, documented, token);
        verifyError(document, exchange, 401);
        const challenge = exchange.headers['www-authenticate'] ?? '';
        verify(challenge.startsWith('Bearer'), 'a 401 has no WWW-Authenticate: Bearer', exchange);
      }
    }),
    check(`tokens: ${nameOf(documented)} needs its scope`, async (service) => {
      const token = service.options.readToken;
      if (token === undefined) throw new NotApplicable('there is no token for reading');
      const scopes = scopesOf(documented);
      const exchange = await send(service, documented, token);
      verify(exchange.status !== 401, 'the token for reading is not accepted', exchange);
      if (!scopes.some((scope) => readScopes.has(scope))) {
        verifyError(document, exchange, 403);
        const challenge = exchange.headers['www-authenticate'] ?? '';
        const isNamed = challenge.includes('error="insufficient_scope"');
        verify(isNamed, 'WWW-Authenticate does not say insufficient_scope', exchange);
        return;
      }
      // Which scopes the token has shows in all operations that require them.
      const all = operations.filter((each) => scopesOf(each).join() === scopes.join());
      for (const other of all) {
        const { status } = await send(service, other, token);
        const isAlike = (status === 403) === (exchange.status === 403);
        const reason = `${nameOf(other)} requires ${scopes.join(' or ')}, too, but gets ${status}`;
        verify(isAlike, reason, exchange);
      }
    }),
  ]);
}

function send(service: TestedService, documented: DocumentedOperation, token: string | null) {
  return service.send(documented.method.toUpperCase(), pathOf(documented), { token });
}

function scopesOf({ operation }: DocumentedOperation): readonly string[] {
  return [operation['x-required-scope'] ?? []].flat();
}
