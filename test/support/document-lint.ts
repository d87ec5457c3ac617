import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Spectral } from '@stoplight/spectral-core';
import type { RulesetDefinition } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';

/** A service has a licence only if its package names one. */
const LICENSED = { hasLicense: true };

/** What Spectral reports, from hints to errors. */
export async function spectralReports(
  source: string,
  { hasLicense } = LICENSED,
): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({
    extends: [[oas as RulesetDefinition, 'all']],
    rules: {
      // Everyone who deploys the service has another contact.
      'info-contact': 'off',
      ...(!hasLicense && { 'info-license': 'off' }),
      // The license has an identifier; OpenAPI 3.1 allows only one of the two.
      'license-url': 'off',
      // Tools show the tags in their order (OpenAPI 3.1, section 4.8.1), plants first.
      'openapi-tags-alphabetical': 'off',
    },
  });
  const results = await spectral.run(source);
  return results.map(({ code, message, path }) => `${path.join('.')} ${code}: ${message}`);
}

/** What Redocly reports. */
export async function faultsIn(source: string, { hasLicense } = LICENSED): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-invalid-media-type-examples': 'error',
      'no-invalid-parameter-examples': 'error',
      'no-invalid-schema-examples': 'error',
      'info-license': hasLicense ? 'error' : 'off',
    },
  });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}
