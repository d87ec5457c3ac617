import { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import { startTestService } from '../support/test-service.js';

it("requests and responses are created with Express's prototypes", async () => {
  const service = await startTestService();
  const given = vi.spyOn(Object, 'setPrototypeOf');
  const changed: unknown[] = [];
  given.mockImplementation((object: object, prototype: object | null) => {
    const ofHttp = object instanceof IncomingMessage || object instanceof ServerResponse;
    if (ofHttp && Reflect.getPrototypeOf(object) !== prototype) changed.push(object);
    Reflect.setPrototypeOf(object, prototype);
    return object;
  });
  try {
    expect((await service.post({ id: 1, name: 'Monstera' })).status).toBe(200);
    // Express called `setPrototypeOf`, without effect.
    expect(given).toHaveBeenCalled();
    expect(changed).toEqual([]);
  } finally {
    given.mockRestore();
    await service.stop();
  }
});
