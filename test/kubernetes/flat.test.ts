import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { containerOf, render } from './manifests.js';
import type { Manifests } from './manifests.js';
import { environmentOf, removeMounts } from './mounts.js';
import { mistakesIn } from './schemas.js';

/* Needs Kustomize, but no cluster. */

describe('the flat example', () => {
  let flat: Manifests;
  let production: Manifests;

  afterAll(removeMounts);

  beforeAll(async () => {
    [flat, production] = await Promise.all([render('../flat'), render('production')]);
  });

  it('is valid for the schemas of the API, and needs nothing else in the cluster', async () => {
    expect(await mistakesIn(flat.all)).toEqual([]);
    expect(flat.all.map(({ kind }) => kind).toSorted()).toEqual(['Deployment', 'Service']);
    for (const { metadata } of flat.all) expect(metadata.namespace).toBe('plant-store');
  });

  it('leads the Service to the pods', () => {
    const { selector, template } = flat.one('Deployment').spec!;
    const { spec: service } = flat.one('Service');
    expect(service?.selector).toEqual(selector.matchLabels);
    expect(template.metadata?.labels).toMatchObject(selector.matchLabels!);
    expect(service?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });

  it('has the limits, probes and shutdown of the pods in production', () => {
    const [own, other] = [flat, production].map((manifests) => manifests.one('Deployment').spec!);
    for (const key of ['strategy', 'progressDeadlineSeconds'] as const) {
      expect(own![key]).toEqual(other![key]);
    }
    for (const key of [
      'automountServiceAccountToken',
      'enableServiceLinks',
      'securityContext',
      'terminationGracePeriodSeconds',
    ] as const) {
      expect(own!.template.spec![key]).toEqual(other!.template.spec![key]);
    }
    const { env: _env, volumeMounts: _own, ...container } = containerOf(own!.template);
    const {
      env: _,
      envFrom: _from,
      volumeMounts: _mounts,
      ...expected
    } = containerOf(other!.template);
    expect(container).toEqual(expected);
  });

  it('migrates as the owner in an init container, like the Job in production', () => {
    const { initContainers = [] } = flat.one('Deployment').spec!.template.spec!;
    const { name, command, env, securityContext, resources } = containerOf(
      production.one('Job').spec!.template,
    );
    expect(initContainers).toEqual([
      {
        name,
        command,
        securityContext,
        resources,
        image: containerOf(flat.one('Deployment').spec!.template).image,
        volumeMounts: [{ name: 'owner', mountPath: '/etc/plant-store/owner', readOnly: true }],
        env: [
          { name: 'DATABASE_URL_FILE', value: '/etc/plant-store/owner/uri' },
          env!.find((variable) => variable.name === 'DATABASE_SERVICE_ROLE'),
        ],
      },
    ]);
  });

  it('takes address and token from Secrets that are not in the repository', () => {
    const { template } = flat.one('Deployment').spec!;
    expect(flat.list('Secret')).toEqual([]);
    const config = readConfig(environmentOf(flat, template));
    expect(config.database.url).toBe('postgres://plant_store_service:secret@10.1.2.3/plant_store');
    expect(config.auth).toMatchObject({ token: 'x'.repeat(32), previousToken: undefined });
    const volumes = template.spec?.volumes?.map(({ secret }) => secret);
    expect(volumes).toMatchObject([
      { secretName: 'plant-store-database-owner', defaultMode: 0o440 },
      { secretName: 'plant-store-database', defaultMode: 0o440 },
      { secretName: 'plant-store-token', defaultMode: 0o440 },
    ]);
    // The init container migrates.
    expect(config.database).toMatchObject({ migrateOnStart: false });
  });
});
