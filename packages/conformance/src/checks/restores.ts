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
      const send = async (method: string, target: string, status: number) => {
        const exchange = requireNoFailure(await service.send(method, target));
        const isExpected = exchange.status === status;
        verify(isExpected, `${method} ${target} gets ${exchange.status}, not ${status}`, exchange);
        return exchange;
      };
      const restore = async () => {
        const restored = await send('POST', `${path}/restore`, 200);
        verifyContent(content, restored);
        if (get) verifyContent(content, await send('GET', path, 200));
      };
      // One that is not removed stays as it is, so a request can be sent again.
      await restore();
      const removed = requireNoFailure(await service.send('DELETE', path));
      verify(removed.status < 300, `DELETE ${path} gets ${removed.status}`, removed);
      if (get) await send('GET', path, 404);
      await send('DELETE', path, 404);
      await restore();
      await restore();
    }),
  ];
}
