import { beforeAll, describe, expect, it } from 'vitest';
import { containerOf, render } from './manifests.js';
import type { Manifests } from './manifests.js';
import { mistakesIn } from './schemas.js';

/* Needs kubectl, which brings Kustomize, but no cluster. */

describe('the flat example', () => {
  let flat: Manifests;
  let production: Manifests;

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
    const { env: _env, ...container } = containerOf(own!.template);
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
        env: [
          {
            name: 'DATABASE_URL',
            valueFrom: { secretKeyRef: { name: 'plant-store-database-owner', key: 'uri' } },
          },
          env!.find((variable) => variable.name === 'DATABASE_SERVICE_ROLE'),
        ],
      },
    ]);
  });

  it('takes address and token from Secrets that are not in the repository', () => {
    const { env = [] } = containerOf(flat.one('Deployment').spec!.template);
    expect(env.map(({ name, valueFrom }) => [name, valueFrom?.secretKeyRef])).toEqual([
      ['DATABASE_URL', { name: 'plant-store-database', key: 'uri' }],
      ['DATABASE_MIGRATE_ON_START', undefined],
      ['AUTH_TOKEN', { name: 'plant-store-token', key: 'token' }],
    ]);
    // The init container migrates.
    expect(env[1]?.value).toBe('false');
  });
});
