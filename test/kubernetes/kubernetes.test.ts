import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Document } from 'yaml';
import { readCommandConfig, readConfig } from '../../packages/framework/src/config/config.js';
import { VARIABLE_NAMES } from '../support/variables.js';
import type { Config } from '../../packages/framework/src/config/config.js';
import { readVariables } from '../../packages/framework/src/config/read-variable.js';
import { STARTUP_LIMITS } from '../../packages/framework/src/database/connect.js';
import { LAST_CALL } from '../../packages/framework/src/http/server/drain.js';
import { SHUTDOWN_LIMITS } from '../../packages/framework/src/app/service.js';
import { WEBHOOK_VARIABLES } from '../../packages/webhooks/src/variables.js';
import { containerOf, read, render } from './manifests.js';
import type { Labels, Manifests } from './manifests.js';
import { environmentOf, removeMounts } from './mounts.js';
import { mistakesIn } from './schemas.js';
import { IDENTITY } from '../../src/identity.js';

/* Needs Kustomize, but no cluster. */

const COMPONENTS = '../../components';

const GATEWAY = 'production with the Gateway API';
const OWN = 'production with a database and a token of its own';
const TRACED = 'production with traces';

const COLLECTOR = 'http://otel-collector.monitoring:4318';

/** As an operator changes an overlay. */
const CHANGES = {
  local: () => {},
  production: () => {},
  [GATEWAY]: (kustomization: Document) => {
    kustomization.addIn(['components'], `${COMPONENTS}/gateway-api`);
  },
  [OWN]: (kustomization: Document) => {
    kustomization.setIn(['components', 0], `${COMPONENTS}/external-database`);
    kustomization.setIn(['components', 1], `${COMPONENTS}/static-token`);
    kustomization.setIn(
      ['configMapGenerator', 0, 'literals'],
      ['PUBLIC_BASE_URL=https://plants.example.org/v1'],
    );
  },
  [TRACED]: (kustomization: Document) => {
    kustomization.addIn(['components'], `${COMPONENTS}/tracing`);
    kustomization.addIn(
      ['configMapGenerator', 0, 'literals'],
      `OTEL_EXPORTER_OTLP_ENDPOINT=${COLLECTOR}`,
    );
  },
};

type Variant = keyof typeof CHANGES;

const rendered = {} as Record<Variant, Manifests>;

beforeAll(async () => {
  for (const variant of Object.keys(CHANGES) as Variant[]) {
    rendered[variant] = await render(variant.split(' ')[0]!, CHANGES[variant]);
  }
});

afterAll(removeMounts);

/** For traces that have not left at shutdown, as docs/operations.md says, in milliseconds. */
const TRACES = 3_000;

/** Variables that others read: Node.js and OpenTelemetry. */
const FOREIGN = ['NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'PGSSLMODE'];

function configOf(manifests: Manifests): Config {
  const { template } = manifests.one('Deployment').spec!;
  return readConfig(IDENTITY, environmentOf(manifests, template));
}

function commandConfigOf(manifests: Manifests) {
  return readCommandConfig(environmentOf(manifests, manifests.one('Job').spec!.template));
}

/** How long the end of a pod may take, in seconds. */
function longestEnd(manifests: Manifests): number {
  const container = containerOf(manifests.one('Deployment').spec!.template);
  const command = container.lifecycle?.preStop?.exec?.command ?? [];
  expect(command).toEqual(['sleep', expect.stringMatching(/^\d+$/)]);
  const { drain, close } = SHUTDOWN_LIMITS;
  const bounds = [configOf(manifests).shutdownDelay, LAST_CALL, drain, LAST_CALL, close, TRACES];
  return Number(command[1]) + bounds.reduce((sum, bound) => sum + bound) / 1_000;
}

/** Whether a policy holds for pods with these labels. */
function selects({ spec }: INetworkPolicy, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec?.podSelector ?? {};
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== 'In') throw new Error(`${operator} is not looked at here`);
      return values?.includes(labels[key] ?? '');
    })
  );
}

/** All that policies allow these pods; `undefined` where none holds them back. */
function allowed(manifests: Manifests, template: IPodTemplateSpec) {
  const policies = manifests
    .list('NetworkPolicy')
    .filter((policy) => selects(policy, (template.metadata?.labels ?? {}) as Labels))
    .map(({ spec }) => spec!);
  const ingress = policies.filter(({ policyTypes }) => policyTypes?.includes('Ingress'));
  const egress = policies.filter(({ policyTypes }) => policyTypes?.includes('Egress'));
  return {
    ingress: ingress.length ? ingress.flatMap((spec) => spec.ingress ?? []) : undefined,
    egress: egress.length ? egress.flatMap((spec) => spec.egress ?? []) : undefined,
  };
}

const namespace = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
});

const DNS = {
  to: [{ ...namespace('kube-system'), podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
  ports: [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
  ],
};

const TO_PUBLIC = {
  to: [
    {
      ipBlock: {
        cidr: '0.0.0.0/0',
        except: expect.arrayContaining(['169.254.0.0/16']) as string[],
      },
    },
    { ipBlock: { cidr: '::/0', except: ['fc00::/7', 'fe80::/10'] } },
  ],
  ports: [{ port: 443 }],
};

describe.each(Object.keys(CHANGES) as Variant[])('%s', (variant) => {
  let manifests: Manifests;

  beforeAll(() => {
    manifests = rendered[variant];
  });

  it('is valid for the schemas of the API', async () => {
    expect(await mistakesIn(manifests.all)).toEqual([]);
  });

  it('is in the namespace that enforces the restricted standard', async () => {
    const [made] = read(await readFile('deploy/kubernetes/namespace.yaml', 'utf8'));
    for (const mode of ['enforce', 'audit', 'warn']) {
      expect(made?.metadata.labels?.[`pod-security.kubernetes.io/${mode}`]).toBe('restricted');
    }
    for (const { metadata } of manifests.all) {
      expect(metadata.namespace).toBe(made?.metadata.name);
    }
  });

  it('has the labels that Kubernetes recommends', () => {
    const labels = {
      'app.kubernetes.io/name': 'plant-store',
      'app.kubernetes.io/part-of': 'plant-store',
      'app.kubernetes.io/managed-by': 'kustomize',
    };
    for (const { metadata } of manifests.all) expect(metadata.labels).toMatchObject(labels);
    for (const { template } of manifests.templates) {
      expect(template.metadata?.labels).toMatchObject({
        ...labels,
        'app.kubernetes.io/component': expect.stringMatching(/^(api|migration|database)$/),
      });
    }
  });

  // Field by field as in https://kubernetes.io/docs/concepts/security/pod-security-standards/.
  it('has pods of the restricted standard, and stricter', () => {
    expect(manifests.templates.length).toBeGreaterThan(1);
    for (const { name, template } of manifests.templates) {
      const {
        hostNetwork,
        hostPID,
        hostIPC,
        initContainers,
        volumes = [],
        ...pod
      } = template.spec!;
      expect([hostNetwork, hostPID, hostIPC, initContainers]).toEqual(Array(4).fill(undefined));
      for (const { name: _, ...kind } of volumes) {
        expect(['emptyDir', 'secret', 'projected']).toContain(Object.keys(kind).join());
        // Not for others than the group of the pod.
        const { defaultMode = 0o440 } = kind.secret ?? kind.projected ?? {};
        expect(defaultMode).toBe(0o440);
        // The Secret of the certificate authority has its key as well.
        for (const { secret } of kind.projected?.sources ?? []) {
          expect(['uri', 'ca.crt']).toContain(secret?.items?.map(({ key }) => key).join());
        }
      }
      // Everything else that a context may say would be a privilege.
      const { runAsUser } = pod.securityContext!;
      expect(runAsUser).toBeGreaterThan(0);
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser,
        runAsGroup: runAsUser,
        seccompProfile: { type: 'RuntimeDefault' },
        fsGroup: runAsUser,
        ...(name.startsWith('StatefulSet') && { fsGroupChangePolicy: 'OnRootMismatch' }),
      });
      const { securityContext, ports = [] } = containerOf(template);
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      for (const { hostPort } of ports) expect(hostPort).toBeUndefined();
    }
  });

  it('gives pods no API token and no variables of Services', () => {
    for (const { template } of manifests.templates) {
      expect(template.spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      });
    }
    expect(manifests.one('ServiceAccount').automountServiceAccountToken).toBe(false);
  });

  it('has resource requests and limits', () => {
    const resource = { cpu: expect.any(String), memory: expect.stringMatching(/^\d+Mi$/) };
    for (const { template } of manifests.templates) {
      expect(containerOf(template).resources).toEqual({ requests: resource, limits: resource });
    }
    // What the service was seen to use, 50 MB more with the image's Node.js, a full queue, and the log.
    const { memory } = containerOf(manifests.one('Deployment').spec!.template).resources!.limits!;
    expect(Number.parseInt(String(memory), 10)).toBeGreaterThan(1.25 * (270 + 50));
  });

  it('has probes on the management port', () => {
    const container = containerOf(manifests.one('Deployment').spec!.template);
    const config = configOf(manifests);
    expect(container.ports).toEqual([
      { name: 'http', containerPort: config.http.port },
      { name: 'management', containerPort: config.management.port },
    ]);
    const asks = (path: string) => ({ httpGet: { path, port: 'management' } });
    expect(container.startupProbe).toMatchObject(asks('/health/live'));
    expect(container.readinessProbe).toMatchObject(asks('/health/ready'));
    expect(container.livenessProbe).toMatchObject(asks('/health/live'));
  });

  it('has a grace period for the longest shutdown', () => {
    const { terminationGracePeriodSeconds } = manifests.one('Deployment').spec!.template.spec!;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(longestEnd(manifests));
  });

  it('rolls out without fewer replicas, spread over zones and nodes', () => {
    const { strategy, template } = manifests.one('Deployment').spec!;
    expect(strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    const spread = template.spec?.topologySpreadConstraints ?? [];
    expect(spread.map(({ topologyKey }) => topologyKey)).toEqual([
      'topology.kubernetes.io/zone',
      'kubernetes.io/hostname',
    ]);
    for (const { labelSelector } of spread) {
      expect(labelSelector).toEqual(manifests.one('Deployment').spec?.selector);
    }
  });

  it('sets known variables to valid values', () => {
    for (const { name, template } of manifests.templates) {
      if (name.startsWith('StatefulSet')) continue;
      const environment = environmentOf(manifests, template);
      for (const [variable, value] of Object.entries(environment)) {
        expect([...VARIABLE_NAMES, ...FOREIGN]).toContain(variable);
        expect(value).not.toBe('');
      }
    }
    expect(configOf(manifests)).toMatchObject({
      database: { migrateOnStart: false },
      http: { trustProxy: 1 },
    });
    const { template } = manifests.one('Deployment').spec!;
    expect(environmentOf(manifests, template)['OTEL_EXPORTER_OTLP_ENDPOINT']).toBe(
      variant === TRACED ? COLLECTOR : undefined,
    );
  });

  it('routes the address of the service to its pods', () => {
    const { spec: deployment } = manifests.one('Deployment');
    expect(deployment?.template.metadata?.labels).toMatchObject(deployment!.selector.matchLabels!);
    const { spec: service } = manifests
      .list('Service')
      .find(({ metadata }) => metadata?.name === 'plant-store')!;
    expect(service?.selector).toEqual(deployment?.selector.matchLabels);
    expect(service?.ports).toEqual([
      { name: 'http', port: 80, targetPort: 'http', appProtocol: 'http' },
    ]);
    const { publicBaseUrl, basePath } = configOf(manifests).http;
    const { hostname, protocol } = new URL(publicBaseUrl!);
    expect(basePath).toMatch(/^\/\w+$/);

    if (variant === GATEWAY) {
      expect(manifests.list('Ingress')).toEqual([]);
      expect(manifests.one('HTTPRoute').spec).toMatchObject({
        // A listener without TLS would take tokens in the clear.
        parentRefs: [{ name: 'public', namespace: 'ingress', sectionName: 'https' }],
        hostnames: [hostname],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: basePath } }],
            backendRefs: [{ name: 'plant-store', port: service?.ports?.[0]?.port }],
            // Exports, imports and followers of changes take any time.
            timeouts: { request: '0s' },
          },
        ],
      });
      expect(JSON.stringify(manifests.one('HTTPRoute'))).not.toContain('filters');
      return;
    }
    const { metadata, spec: ingress } = manifests.one('Ingress');
    expect(metadata?.annotations).toBeUndefined();
    expect(ingress?.ingressClassName).toBeUndefined();
    const backend = { service: { name: 'plant-store', port: { name: 'http' } } };
    expect(ingress?.rules).toEqual([
      {
        ...(protocol === 'https:' && { host: hostname }),
        http: { paths: [{ path: basePath, pathType: 'Prefix', backend }] },
      },
    ]);
    expect(ingress?.tls).toEqual(
      protocol === 'https:' ? [{ hosts: [hostname], secretName: 'plant-store-tls' }] : undefined,
    );
  });

  it('lets the ingress reach the API and monitoring the management port, and nobody else', () => {
    const { template } = manifests.one('Deployment').spec!;
    expect(allowed(manifests, template).ingress).toEqual([
      { from: [namespace('ingress')], ports: [{ port: 'http' }] },
      { from: [namespace('monitoring')], ports: [{ port: 'management' }] },
    ]);
  });

  it('lets pods reach DNS, the database and the issuer, and nothing else', () => {
    const toDatabase = {
      to: [
        variant === OWN
          ? { ipBlock: { cidr: '10.0.0.0/8' } }
          : {
              podSelector: {
                matchLabels:
                  variant === 'local'
                    ? manifests.one('StatefulSet').spec!.selector.matchLabels
                    : { 'cnpg.io/cluster': 'plant-store-database' },
              },
            },
      ],
      ports: [{ port: 5432 }],
    };
    const { spec: deployment } = manifests.one('Deployment');
    const toCollector = { to: [namespace('monitoring')], ports: [{ port: 4318 }] };
    expect(allowed(manifests, deployment!.template).egress).toEqual([
      DNS,
      toDatabase,
      ...(configOf(manifests).auth.jwt ? [TO_PUBLIC] : []),
      ...(variant === TRACED ? [toCollector] : []),
    ]);
    expect(allowed(manifests, manifests.one('Job').spec!.template)).toEqual({
      ingress: [],
      egress: [DNS, toDatabase],
    });
  });

  it('disrupts and scales the pods that serve, within the connections of the database', () => {
    const { selector } = manifests.one('Deployment').spec!;
    expect(manifests.one('PodDisruptionBudget').spec).toMatchObject({
      maxUnavailable: 1,
      selector,
    });
    if (variant === 'local') {
      expect(manifests.list('HorizontalPodAutoscaler')).toEqual([]);
      expect(manifests.one('Deployment').spec?.replicas).toBe(2);
      return;
    }
    expect(manifests.one('Deployment').spec?.replicas).toBeUndefined();
    const { scaleTargetRef, minReplicas, maxReplicas } =
      manifests.one('HorizontalPodAutoscaler').spec!;
    expect(scaleTargetRef).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: manifests.one('Deployment').metadata?.name,
    });
    expect(minReplicas).toBeGreaterThan(1);
    if (variant === OWN) return;
    // In a rollout all of the former release may still be draining. Some are left for those who look after it.
    const { parameters } = manifests.one('Cluster').spec.postgresql;
    // One more than the pool cleans the index of searches.
    const connections = 2 * maxReplicas * (configOf(manifests).database.poolMax + 1);
    expect(Number(parameters['max_connections'])).toBeGreaterThanOrEqual(connections + 20);
  });

  it('migrates with the image of the release, in a separate Job', () => {
    const { metadata, spec } = manifests.one('Job');
    const { command, image = '', envFrom } = containerOf(spec!.template);
    const { template, progressDeadlineSeconds } = manifests.one('Deployment').spec!;
    const tag = image.slice(image.lastIndexOf(':') + 1);
    expect(metadata?.name).toMatch(MIGRATION);
    expect(image).toBe(containerOf(template).image);
    for (const labels of [metadata?.labels, template.metadata?.labels]) {
      expect(labels).toMatchObject({ 'app.kubernetes.io/version': tag });
    }
    expect(command).toEqual(['node', 'dist/cli/migration.js', 'run']);
    expect(existsSync('dist/cli/migration.js')).toBe(true);
    // Its name would change with its content, and the Job could not follow.
    expect(envFrom).toBeUndefined();
    expect(spec).toMatchObject({ backoffLimit: 6, ttlSecondsAfterFinished: 86_400 });
    // The pods of the rollout wait for it.
    expect(progressDeadlineSeconds).toBeGreaterThan(spec!.activeDeadlineSeconds!);
    expect(spec!.activeDeadlineSeconds! * 1_000).toBeGreaterThan(
      STARTUP_LIMITS.wait + STARTUP_LIMITS.migrationLock,
    );
  });
});

/** The name of a Job, which is the host name of its pods, so the API server warns of dots. */
const MIGRATION = /^plant-store-migration-[a-z0-9]{10}$/;

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

/** As an operator changes the image of a release. */
const withImage = (values: Readonly<Record<string, string>>) => (kustomization: Document) => {
  for (const [key, value] of Object.entries(values)) {
    kustomization.setIn(['images', 0, key], value);
  }
};

describe('a release', () => {
  it('is a single value in the overlay', async () => {
    const newTag = '99.0.0-rc.1';
    const newName = 'localhost:5000/team/plant-store';
    const next = await render('production', withImage({ newName, newTag }));
    const text = JSON.stringify(next.all);
    expect(JSON.stringify(rendered.production.all)).toContain(
      `plant-store:${IDENTITY.build.version}"`,
    );
    expect(text).not.toContain(IDENTITY.build.version);
    const now = rendered.production;
    const former = JSON.stringify(now.all)
      .replaceAll('registry.example.com/', 'localhost:5000/team/')
      .replaceAll(IDENTITY.build.version, newTag)
      .replaceAll(now.one('Job').metadata!.name!, next.one('Job').metadata!.name!);
    expect(text).toBe(former);
  });

  it('has a Job of its own, whatever the tag', async () => {
    const tags = ['1.0.0', '1.0.1', '1-0-1', '1.1.0-rc.1.2', 'V2_nightly', 'a'.repeat(63)];
    const releases = [
      ...tags.map((newTag): Record<string, string> => ({ newTag })),
      { newTag: '1.0.0', digest: DIGEST },
      { newTag: '1.0.0', newName: 'localhost:5000/team/plant-store' },
    ];
    const names = await Promise.all(
      releases.map(async (release) => {
        const manifests = await render('production', withImage(release));
        expect(await mistakesIn(manifests.all)).toEqual([]);
        return manifests.one('Job').metadata!.name!;
      }),
    );
    for (const name of names) expect(name).toMatch(MIGRATION);
    expect(new Set(names).size).toBe(releases.length);
  });

  it.each([
    ['in the tag', { newTag: `1.1.0@${DIGEST}` }],
    ['beside the tag', { newTag: '1.1.0', digest: DIGEST }],
  ] as const)('may have a digest %s, which is not part of the version', async (_, values) => {
    const manifests = await render('production', withImage(values));
    const image = `registry.example.com/plant-store:1.1.0@${DIGEST}`;
    const version = { 'app.kubernetes.io/version': '1.1.0' };
    for (const { template } of manifests.templates) {
      expect(containerOf(template).image).toBe(image);
      expect(template.metadata?.labels).toMatchObject(version);
    }
    expect(manifests.one('Job').metadata?.labels).toMatchObject(version);
    expect(await mistakesIn(manifests.all)).toEqual([]);
  });

  it('is refused without a tag', async () => {
    const rendering = render('production', (kustomization) => {
      kustomization.setIn(['images', 0], { name: 'plant-store', digest: DIGEST });
    });
    await expect(rendering).rejects.toThrow('plant-store@sha256');
  });

  it('rolls the pods as well when only the configuration changes', async () => {
    const changed = await render('production', (kustomization) => {
      kustomization.addIn(['configMapGenerator', 0, 'literals'], 'LOG_LEVEL=warn');
    });
    const nameOf = (manifests: Manifests) =>
      containerOf(manifests.one('Deployment').spec!.template).envFrom?.[0]?.configMapRef?.name;
    expect(nameOf(changed)).toBe(changed.one('ConfigMap', 'plant-store-config').metadata?.name);
    expect(nameOf(changed)).not.toBe(nameOf(rendered.production));
    expect(changed.one('Job')).toEqual(rendered.production.one('Job'));
  });
});

/** As an operator changes the address of the service. */
const withAddress = (url: string) => (kustomization: Document) => {
  kustomization.setIn(['configMapGenerator', 0, 'literals', 0], `PUBLIC_BASE_URL=${url}`);
};

describe('the address', () => {
  it.each([
    ['https://plants.example.org/', 'plants.example.org', '/'],
    ['https://shop.example.com/api/', 'shop.example.com', '/api/'],
    ['https://shop.example.com:8443/api', 'shop.example.com', '/api'],
    ['https://shop.example.com:8443/plants/api/v1', 'shop.example.com', '/plants/api/v1'],
  ])('%s is the address of the Ingress and of the HTTPRoute', async (url, host, path) => {
    const manifests = await render('production', withAddress(url));
    const { basePath } = configOf(manifests).http;
    expect(basePath).toBe(path.replace(/\/$/, ''));
    expect(manifests.one('Ingress').spec).toMatchObject({
      tls: [{ hosts: [host] }],
      rules: [{ host, http: { paths: [{ path }] } }],
    });
    const gateway = await render('production', (kustomization) => {
      CHANGES[GATEWAY](kustomization);
      withAddress(url)(kustomization);
    });
    expect(configOf(gateway).http.keepAlive).toBe(3_660_000);
    expect(gateway.one('HTTPRoute').spec).toMatchObject({
      hostnames: [host],
      rules: [{ matches: [{ path: { value: path } }] }],
    });
  });

  it('is refused without a path', async () => {
    await expect(render('production', withAddress('https://plants.example.org'))).rejects.toThrow(
      'https://plants.example.org',
    );
  });
});

describe('components', () => {
  it('may stand in any order', async () => {
    const chosen = ['static-token', 'tracing', 'webhooks', 'cloudnative-pg'];
    const [manifests, others] = await Promise.all(
      [chosen, chosen.toReversed()].map((order) =>
        render('production', (kustomization) => {
          kustomization.set(
            'components',
            order.map((name) => `${COMPONENTS}/${name}`),
          );
        }),
      ),
    );
    const [{ auth, database }, other] = [configOf(manifests!), configOf(others!)];
    expect(auth.token).toBeDefined();
    expect(other).toMatchObject({ auth, database });
    for (const each of [manifests!, others!]) {
      const { template } = each.one('Deployment').spec!;
      expect(environmentOf(each, template)).toMatchObject({ PGSSLMODE: 'verify-full' });
      const { values, mistakes } = readVariables(WEBHOOK_VARIABLES, environmentOf(each, template));
      expect(mistakes).toEqual([]);
      expect(values.WEBHOOK_SECRET_KEY).toHaveLength(32);
    }
  });

  it('let messages of webhooks leave for public addresses only', async () => {
    const manifests = await render('production', (kustomization) => {
      kustomization.setIn(['components', 1], `${COMPONENTS}/webhooks`);
    });
    expect(await mistakesIn(manifests.all)).toEqual([]);
    const { egress } = allowed(manifests, manifests.one('Deployment').spec!.template);
    expect(egress).toContainEqual(TO_PUBLIC);
    const { egress: ofJob } = allowed(manifests, manifests.one('Job').spec!.template);
    expect(ofJob).not.toContainEqual(TO_PUBLIC);
  });
});

describe('the roles of the database', () => {
  it.each(['local', 'production', OWN] as const)(
    'of %s: the owner migrates, the service is another one',
    (variant) => {
      const { databaseUrl, serviceRole } = commandConfigOf(rendered[variant]);
      expect(new URL(databaseUrl!).username).toBe('plant_store');
      expect(serviceRole?.name).toBe('plant_store_service');
      expect(new URL(configOf(rendered[variant]).database.url!).username).toBe(serviceRole?.name);
    },
  );
});

describe('secrets', () => {
  it('of production are referenced, and created as in the guide', async () => {
    const guide = await readFile('docs/kubernetes.md', 'utf8');
    for (const variant of ['production', OWN] as const) {
      const { all } = rendered[variant];
      expect(all.some(({ kind }) => kind === 'Secret')).toBe(false);
      const text = JSON.stringify(all);
      expect(text).not.toMatch(/postgres(ql)?:\/\/|PASSWORD|-----BEGIN/);
      for (const { template } of rendered[variant].templates) {
        for (const { value } of containerOf(template).env ?? []) {
          if (value !== undefined) {
            expect(value).toMatch(
              /^(\/etc\/plant-store\/(database|token)\/|verify-full$|plant_store_service$)/,
            );
          }
        }
      }
    }
    for (const line of [
      'create secret tls plant-store-tls',
      'create secret generic plant-store-backups',
      '--from-literal=ACCESS_KEY_ID=',
      '--from-literal=SECRET_ACCESS_KEY=',
      'create secret generic plant-store-token --from-literal=token=',
      'create secret generic plant-store-webhooks --from-literal=key=',
      'create secret generic plant-store-database --type=kubernetes.io/basic-auth',
      'create secret generic plant-store-database-owner --from-literal=uri=',
      'create secret generic plant-store-database --from-literal=uri=',
    ]) {
      expect(guide).toContain(line);
    }
  });

  it('of the local overlay are public', () => {
    expect(configOf(rendered.local)).toMatchObject({
      auth: { token: expect.stringMatching(/^plant-store-local-/), jwt: undefined },
      http: { publicBaseUrl: 'http://localhost:8080/api' },
    });
    const { spec } = rendered.local.one('StatefulSet');
    const { databaseUrl, serviceRole } = commandConfigOf(rendered.local);
    const { password, username, hostname, pathname } = new URL(databaseUrl!);
    const container = containerOf(spec!.template);
    expect(environmentOf(rendered.local, spec!.template)).toMatchObject({
      POSTGRES_PASSWORD: password,
      POSTGRES_USER: username,
      POSTGRES_DB: pathname.slice(1),
    });
    expect(hostname).toBe(spec?.serviceName);
    const service = new URL(configOf(rendered.local).database.url!);
    expect(service).toMatchObject({ hostname, pathname });
    // Nobody else creates it.
    expect(serviceRole).toEqual({ name: service.username, password: service.password });
    expect(container.volumeMounts?.[0]?.mountPath).toBe('/var/lib/postgresql');
    expect(container.image).toMatch(/^postgres:(1[89]|[2-9]\d)$/);
  });
});

describe('the database by CloudNativePG', () => {
  it('has three instances, synchronous commits on two of them, and backups', () => {
    const found = rendered.production.all.filter(({ apiVersion }) => /cnpg\.io/.test(apiVersion));
    expect(found).toMatchObject([
      { kind: 'ObjectStore', metadata: { name: 'plant-store-backups' } },
      {
        kind: 'Cluster',
        metadata: { name: 'plant-store-database' },
        spec: {
          instances: 3,
          postgresql: { synchronous: { method: 'any', number: 1 } },
          plugins: [
            {
              name: 'barman-cloud.cloudnative-pg.io',
              isWALArchiver: true,
              parameters: { barmanObjectName: 'plant-store-backups' },
            },
          ],
        },
      },
      {
        kind: 'ScheduledBackup',
        spec: {
          cluster: { name: 'plant-store-database' },
          method: 'plugin',
          pluginConfiguration: { name: 'barman-cloud.cloudnative-pg.io' },
        },
      },
    ]);
  });

  it('creates the Secrets of the owner and the authority, and takes that of the service', () => {
    const [role, ...others] = rendered.production.one('Cluster').spec.managed.roles;
    expect(others).toEqual([]);
    expect(role).toEqual({
      name: commandConfigOf(rendered.production).serviceRole?.name,
      ensure: 'present',
      login: true,
      passwordSecret: { name: 'plant-store-database' },
    });
    for (const { name, template } of rendered.production.templates) {
      // https://cloudnative-pg.io/docs/current/applications: the name of the Cluster, then -app.
      const secret = name.startsWith('Job') ? 'plant-store-database-app' : 'plant-store-database';
      const { env = [], volumeMounts } = containerOf(template);
      const mountPath = '/etc/plant-store/database';
      expect(env.slice(0, 2)).toEqual([
        { name: 'DATABASE_URL_FILE', value: `${mountPath}/uri` },
        { name: 'PGSSLMODE', value: 'verify-full' },
      ]);
      expect(env.filter((variable) => variable.name === 'NODE_EXTRA_CA_CERTS')).toEqual(
        name.startsWith('Job')
          ? [{ name: 'NODE_EXTRA_CA_CERTS', value: `${mountPath}/ca.crt` }]
          : [],
      );
      expect(volumeMounts).toEqual([{ name: 'database', mountPath, readOnly: true }]);
      expect(template.spec?.volumes?.[0]?.projected?.sources).toEqual([
        { secret: { name: secret, items: [{ key: 'uri', path: 'uri' }] } },
        {
          secret: { name: 'plant-store-database-ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
        },
      ]);
    }
  });

  it('accepts its operator, its instances and the service, and monitoring for the metrics', () => {
    const policy = rendered.production
      .list('NetworkPolicy')
      .find(({ metadata }) => metadata?.name === 'plant-store-database');
    const service = expect.objectContaining({ podSelector: expect.any(Object) });
    const instances = {
      podSelector: { matchLabels: { 'cnpg.io/cluster': 'plant-store-database' } },
    };
    expect(policy?.spec?.ingress).toEqual([
      { from: [service], ports: [{ port: 5432 }] },
      { from: [instances], ports: [{ port: 5432 }, { port: 8000 }] },
      // https://cloudnative-pg.io/docs/current/networking
      { from: [namespace('cnpg-system')], ports: [{ port: 8000 }, { port: 5432 }] },
      { from: [namespace('monitoring')], ports: [{ port: 9187 }] },
    ]);
  });

  it('knows the letters of all languages, so that the index of searches does', () => {
    const { initdb } = rendered.production.one('Cluster').spec.bootstrap;
    expect(initdb).toMatchObject({ encoding: 'UTF8', localeCType: 'C.UTF-8' });
  });

  it('is restored from a backup as in the guide', async () => {
    const guide = await readFile('docs/kubernetes.md', 'utf8');
    const [, patches] = /```yaml\n(patches:[^]*?)```/.exec(guide)!;
    const manifests = await render('production', (kustomization) => {
      kustomization.set('patches', parse(patches!)['patches']);
    });
    const { bootstrap, externalClusters, plugins } = manifests.one('Cluster').spec;
    const { database, owner } = rendered.production.one('Cluster').spec.bootstrap['initdb']!;
    expect(bootstrap).toEqual({ recovery: { source: 'backup', database, owner } });
    const [{ parameters, ...plugin }] = rendered.production.one('Cluster').spec.plugins;
    expect(externalClusters).toEqual([
      {
        name: 'backup',
        plugin: {
          name: plugin.name,
          parameters: { ...parameters, serverName: 'plant-store-database' },
        },
      },
    ]);
    // Not over what it comes from.
    expect(plugins).toEqual([
      { ...plugin, parameters: { ...parameters, serverName: 'plant-store-database-2' } },
    ]);
  });
});

describe('the flat example', () => {
  let flat: Manifests;

  beforeAll(async () => {
    flat = await render('../flat');
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
    const common = (manifests: Manifests) => {
      const { strategy, progressDeadlineSeconds, template } = manifests.one('Deployment').spec!;
      const { automountServiceAccountToken, enableServiceLinks, ...pod } = template.spec!;
      const { securityContext, terminationGracePeriodSeconds } = pod;
      const {
        env: _env,
        envFrom: _from,
        volumeMounts: _mounts,
        ...container
      } = containerOf(template);
      const deployment = { strategy, progressDeadlineSeconds, container };
      const limits = { securityContext, terminationGracePeriodSeconds };
      return { ...deployment, ...limits, automountServiceAccountToken, enableServiceLinks };
    };
    expect(common(flat)).toEqual(common(rendered.production));
    const { template } = flat.one('Deployment').spec!;
    expect(containerOf(template).envFrom).toBeUndefined();
  });

  it('migrates as the owner in an init container, like the Job in production', () => {
    const { initContainers = [] } = flat.one('Deployment').spec!.template.spec!;
    const { name, command, env, securityContext, resources } = containerOf(
      rendered.production.one('Job').spec!.template,
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
    const config = readConfig(IDENTITY, environmentOf(flat, template));
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
