import { check } from '../check.js';
import type { Check } from '../check.js';
import type { TestedResource } from '../tested-resource.js';
import { requireNoFailure, verify } from '../violation.js';
import { verifyContent } from './creates.js';

/** The check that a removed row comes back as it was. */
export function restoreChecks(resource: TestedResource): readonly Check[] {
  const { get, remove } = resource.operations;
  if (!resource.isRestorable || !remove) return [];
  return [
    check(`restores of ${resource.name}: a removed row comes back as it was`, async (service) => {
      const { path, content } = await resource.create(service);
      const send = async (method: string, target: string, status?: number) => {
        const exchange = requireNoFailure(await service.send(method, target));
        const isExpected =
          status === undefined ? exchange.status < 300 : exchange.status === status;
        const reason = `${method} ${target} gets ${exchange.status}, not ${status ?? 'a success'}`;
        verify(isExpected, reason, exchange);
        return exchange;
      };
      const restore = async () => {
        // A POST of Nest has the status 201 unless the route has another.
        verifyContent(content, await send('POST', `${path}/restore`));
        if (get) verifyContent(content, await send('GET', path, 200));
      };
      // One that is not removed stays as it is, so a request can be sent again.
      await restore();
      await send('DELETE', path);
      if (get) await send('GET', path, 404);
      await send('DELETE', path, 404);
      await restore();
      await restore();
    }),
  ];
}
