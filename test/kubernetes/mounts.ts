import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { containerOf } from './manifests.js';
import type { Manifests } from './manifests.js';

/** Values of the Secrets that are not in the repository. */
const SECRETS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'plant-store-database': { uri: 'postgres://plant_store_service:secret@10.1.2.3/plant_store' },
  'plant-store-database-owner': { uri: 'postgres://plant_store:secret@10.1.2.3/plant_store' },
  'plant-store-database-app': {
    uri: 'postgresql://plant_store:secret@plant-store-database-rw/plant_store',
  },
  'plant-store-database-ca': { 'ca.crt': '' },
  'plant-store-token': { token: 'x'.repeat(32) },
  'plant-store-webhooks': { key: Buffer.alloc(32).toString('base64') },
};

const folders: string[] = [];

/** Removes the files that {@link environmentOf} has written. */
export function removeMounts(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
}

/**
 * The variables of a pod, as its process sees them; the variables of the image come first. The files of Secrets are in a
 * temporary folder instead of the root.
 */
export function environmentOf(manifests: Manifests, template: IPodTemplateSpec) {
  const { env = [], envFrom = [] } = containerOf(template);
  const environment: Record<string, string> = {
    NODE_ENV: 'production',
    HOST: '0.0.0.0',
    MANAGEMENT_HOST: '0.0.0.0',
  };
  for (const { configMapRef } of envFrom) {
    const { data } = manifests.one('ConfigMap', configMapRef?.name);
    Object.assign(environment, data);
  }
  const root = mount(manifests, template);
  for (const { name, value, valueFrom } of env) {
    const { name: secret = '', key = '' } = valueFrom?.secretKeyRef ?? {};
    const path = value?.startsWith('/') ? join(root, value) : value;
    environment[name] = path ?? contentsOf(manifests, secret)[key] ?? '';
  }
  return environment;
}

function mount(manifests: Manifests, template: IPodTemplateSpec): string {
  const root = mkdtempSync(join(tmpdir(), 'plant-store-pod-'));
  folders.push(root);
  for (const { name, mountPath } of containerOf(template).volumeMounts ?? []) {
    mkdirSync(join(root, mountPath), { recursive: true });
    const volume = template.spec?.volumes?.find((found) => found.name === name);
    const { secret, projected } = volume ?? {};
    const sources = projected?.sources?.map((source) => source.secret) ?? [];
    for (const source of [...sources, secret && { ...secret, name: secret.secretName }]) {
      const contents = contentsOf(manifests, source?.name ?? '');
      const items = source?.items ?? Object.keys(contents).map((key) => ({ key, path: key }));
      for (const { key, path } of items) {
        writeFileSync(join(root, mountPath, path), contents[key]!);
      }
    }
  }
  return root;
}

function contentsOf(manifests: Manifests, name: string): Readonly<Record<string, string>> {
  const here = manifests.list('Secret').find(({ metadata }) => metadata?.name === name);
  if (here === undefined) return SECRETS[name] ?? {};
  const { data = {} } = here;
  return Object.fromEntries(
    Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, 'base64').toString()]),
  );
}
