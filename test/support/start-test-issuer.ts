import { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';

/** An issuer whose tokens have all scopes of the service and of the example. */
export function startTestIssuer(options?: { path?: string; alg?: string }): Promise<TestIssuer> {
  return TestIssuer.start({
    scope: 'plants:read plants:write gardens:read gardens:write',
    ...options,
  });
}
