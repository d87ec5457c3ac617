import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** The folder of the package that a module belongs to. A package can contain others in a `node_modules` of its own. */
const PACKAGE = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;

/** The folder of a package of this project that a module belongs to, seen from here. */
const WORKSPACE = /^packages[\\/][^\\/]+/;

/** Served from `node_modules`, not bundled. */
const ASSETS = ['node_modules/swagger-ui-dist', 'node_modules/oauth4webapi'];

/**
 * Writes `sbom.cdx.json` into the output: the packages whose code it contains (CycloneDX 1.6). `npm sbom --omit dev` leaves out
 * packages that a development dependency needs as well (https://github.com/npm/cli/issues/7909).
 */
export function sbom() {
  return {
    name: 'sbom',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
      const folders = modules.flatMap(
        (id) => PACKAGE.exec(id) ?? WORKSPACE.exec(relative('.', id)) ?? [],
      );
      const components = [...new Set([...folders, ...ASSETS])].map((folder) =>
        componentOf(folder, 'library'),
      );
      const document = {
        $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
        bomFormat: 'CycloneDX',
        specVersion: '1.6',
        version: 1,
        metadata: { component: componentOf('.', 'application') },
        components: components.toSorted((one, other) => (one.purl < other.purl ? -1 : 1)),
      };
      const source = `${JSON.stringify(document, undefined, 2)}\n`;
      this.emitFile({ type: 'asset', fileName: 'sbom.cdx.json', source });
    },
  };
}

function componentOf(folder, type) {
  const { name, version, license, licenses } = JSON.parse(
    readFileSync(`${folder}/package.json`, 'utf8'),
  );
  // Old packages have a list, of which one can be chosen.
  const expression = license ?? licenses?.map((one) => one.type).join(' OR ');
  if (typeof expression !== 'string') throw new Error(`${name} does not say its licence`);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
  return { type, 'bom-ref': purl, name, version, purl, licenses: [{ expression }] };
}
