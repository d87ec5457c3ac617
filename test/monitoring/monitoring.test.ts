import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { lastingPort } from '../support/lasting-port.js';
import { Workspace } from '../support/process.js';
import type { Listening, ServiceProcess } from '../support/process.js';
import { lockPlants, WAIT_FOR_LOCKS } from '../support/plants-lock.js';
import { AUDIENCE, newKey } from '../../packages/framework/test/support/test-issuer.js';
import type { TestIssuer } from '../../packages/framework/test/support/test-issuer.js';
import { startTestIssuer } from '../support/start-test-issuer.js';
import { createTestDatabase } from '../../packages/framework/test/support/test-database.js';
import type { TestDatabase } from '../../packages/framework/test/support/test-database.js';
import { TOKEN } from '../support/test-service.js';

/* What deploy/monitoring has, run by the real Prometheus against the real service: needs Debian's
   package prometheus. */

const run = promisify(execFile);

/** Milliseconds for Prometheus to have what rates need. */
const PATIENCE = { timeout: 30_000, interval: 200 };

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
}

interface Panel {
  readonly title: string;
  readonly datasource: { readonly uid: string };
  readonly gridPos: Record<'x' | 'y' | 'w' | 'h', number>;
  readonly targets: readonly { readonly expr: string }[];
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

const read = (file: string) => readFile(`deploy/monitoring/${file}`, 'utf8');

const { groups } = parse(await read('rules/plant-store.yml')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap(({ rules: all }) => all);
const { panels } = JSON.parse(await read('grafana/dashboards/plant-store.json')) as {
  readonly panels: readonly Panel[];
};
const shown = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

describe('promtool', () => {
  it.each([
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'rules/plant-store.yml'],
    ['test', 'rules', 'rules.test.yml'],
  ])('succeeds: %s %s %s', async (verb, kind, file) => {
    const { stdout } = await run('promtool', [verb, kind, `deploy/monitoring/${file}`]);
    expect(stdout).toContain('SUCCESS');
  });

  it('has a test for each alert', async () => {
    const tests = await read('rules.test.yml');
    for (const { alert } of rules) {
      if (alert !== undefined) expect(tests).toContain(`alertname: ${alert}\n`);
    }
  });
});

describe('rules and dashboard', () => {
  // Other services have metrics with the names of OpenTelemetry, too.
  it.each([...rules.map(({ record, alert, expr }) => [record ?? alert, expr] as const), ...shown])(
    'select only the job of the service: %s, %s',
    (_name, expression) => {
      // What is recorded is made of that job.
      const selectors = selectorsIn(expression).filter((selector) => !selector.includes(':'));
      expect(selectors.filter((selector) => !selector.includes('job="plant-store"'))).toEqual([]);
    },
  );
});

describe('the dashboard', () => {
  it('uses the data source that is provisioned with it', async () => {
    const { datasources } = parse(
      await read('grafana/provisioning/datasources/prometheus.yml'),
    ) as {
      readonly datasources: readonly { readonly uid: string }[];
    };
    expect(new Set(panels.map(({ datasource }) => datasource.uid))).toEqual(
      new Set(datasources.map(({ uid }) => uid)),
    );
  });

  it('has panels that do not overlap, with unique titles', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });
});

describe('a Prometheus that scrapes the service', () => {
  let workspace: Workspace;
  let database: TestDatabase;
  let issuer: TestIssuer;
  let service: ServiceProcess;
  let listening: Listening;
  let prometheus: Prometheus;
  let traffic: NodeJS.Timeout;

  beforeAll(async () => {
    [workspace, database, issuer] = await Promise.all([
      Workspace.create(),
      createTestDatabase(),
      startTestIssuer(),
    ]);
    service = workspace.start({
      DATABASE_URL: `${database.url}?${WAIT_FOR_LOCKS}`,
      AUTH_TOKEN: TOKEN,
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: AUDIENCE,
    });
    listening = await service.listening();
    expect(await statusWith(await issuer.token())).toBe(404);
    let id = 0;
    traffic = setInterval(() => void beBusy(listening.url, ++id), 100);
    prometheus = await Prometheus.start(workspace, await configuration());
  });

  afterAll(async () => {
    clearInterval(traffic);
    try {
      // Fails if Prometheus is not installed.
      await prometheus.stop();
    } finally {
      await workspace.remove();
      await issuer.close();
      await database.drop();
    }
  });

  /** The status of a look-up with a token. */
  async function statusWith(token: string): Promise<number> {
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`${listening.url}/plants/404`, { headers })).status;
  }

  /** The configuration of the project, with the address of the service here and a shorter scrape interval. */
  async function configuration(): Promise<string> {
    const config = parse(await read('prometheus.yml')) as {
      global: object;
      rule_files: string[];
      scrape_configs: [{ static_configs: [{ targets: string[] }] }];
    };
    config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
    config.rule_files = config.rule_files.map((file) => resolve('deploy/monitoring', file));
    config.scrape_configs[0].static_configs[0].targets = [new URL(listening.managementUrl).host];
    return stringify(config);
  }

  const api = <T>(path: string) => prometheus.api<T>(path);

  async function query(expression: string): Promise<readonly Sample[]> {
    const expr = expression.replaceAll('$__rate_interval', '10s');
    return (await api<{ result: Sample[] }>(`query?query=${encodeURIComponent(expr)}`)).result;
  }

  async function alerts(): Promise<Record<string, string>> {
    const all = await api<{ alerts: { labels: Record<string, string>; state: string }[] }>(
      'alerts',
    );
    return Object.fromEntries(all.alerts.map(({ labels, state }) => [labels['alertname'], state]));
  }

  it.each(shown)('has what the dashboard shows: %s, %s', async (_title, expression) => {
    await vi.waitFor(async () => {
      const samples = await query(expression);
      expect(samples.map(({ value }) => Number(value[1]))).not.toEqual([]);
      for (const { value } of samples) expect(value[1]).not.toBe('NaN');
    }, PATIENCE);
  });

  it.each(rules.map(({ record, alert, expr }) => [record ?? alert, expr]))(
    'evaluates %s: %s',
    async (name, expression) => {
      const samples = await query(expression);
      // With a service that is well, only what is recorded has a value.
      if (name?.includes(':')) expect(samples).toHaveLength(1);
      else expect(samples).toEqual([]);
    },
  );

  it('has every series that the rules name', async () => {
    const names = await api<string[]>('label/__name__/values');
    const named = rules.flatMap(({ expr }) => namesIn(expr));
    expect(named).toContain('plant_store_creations_waiting_max');
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('evaluates all rules, without an alert for a healthy service', async () => {
    const state = await api<{ groups: { rules: { health: string; name: string }[] }[] }>('rules');
    const all = state.groups.flatMap(({ rules: ofGroup }) => ofGroup);
    expect(all).toHaveLength(rules.length);
    expect(all.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(await alerts()).toEqual({});
  });

  it('alerts when creates time out', async () => {
    const unlock = await lockPlants(database);
    // The queue has been so for less than a minute.
    const expected = { PlantStoreErrorBudgetBurn: 'firing', PlantStoreQueueNearBound: 'pending' };
    await vi.waitFor(async () => expect(await alerts()).toEqual(expected), PATIENCE);
    await unlock();
  });

  it('alerts when the token issuer is down', async () => {
    const known = await issuer.token();
    await issuer.close();
    // Causes a fetch of the keys.
    expect(await statusWith(await issuer.token({}, { key: await newKey('ES256') }))).toBe(503);
    expect(await statusWith(known)).toBe(404);
    await vi.waitFor(
      async () => expect(await alerts()).toHaveProperty('PlantStoreTokenIssuerDown', 'pending'),
      PATIENCE,
    );
    expect(await alerts()).not.toHaveProperty('PlantStoreTokenKeysExpiring');
  });

  it('alerts when the service is down', async () => {
    service.kill('SIGKILL');
    await service.exit();
    await vi.waitFor(async () => expect(await alerts()).toHaveProperty('PlantStoreDown'), PATIENCE);
    expect(await alerts()).toHaveProperty('PlantStoreAbsent', 'pending');
  });
});

describe('a Prometheus in a cluster', async () => {
  const config = parse(await read('prometheus-kubernetes.yml')) as {
    rule_files: string[];
    scrape_configs: [{ kubernetes_sd_configs?: unknown; file_sd_configs?: unknown }];
  };
  const { labels, ports } = await podsOfTheService();

  it('selects the pods of the service', () => {
    const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    expect(config.scrape_configs[0].kubernetes_sd_configs).toEqual([
      {
        role: 'pod',
        namespaces: { names: ['plant-store'] },
        selectors: [{ role: 'pod', label: label.join(',') }],
      },
    ]);
  });

  it('selects the same pods by the operator', async () => {
    const [, block] =
      /```yaml\n([^`]*)```/.exec(await readFile('docs/monitoring.md', 'utf8')) ?? [];
    expect(parse(block ?? '')).toMatchObject({
      kind: 'PodMonitor',
      metadata: { namespace: 'plant-store' },
      spec: {
        jobLabel: 'app.kubernetes.io/name',
        selector: { matchLabels: labels },
        podMetricsEndpoints: [
          { port: ports.find(({ containerPort }) => containerPort === 3001)?.name },
        ],
      },
    });
  });

  it('scrapes running pods on their management port, with the name of the job', async () => {
    const workspace = await Workspace.create();
    // Debian's Prometheus is built without the discovery of Kubernetes, so a file has what that would find:
    // a target for each port of each pod. Nobody is at the address, which is on loopback.
    const found = [
      ['plant-store-a', 'Running'],
      ['plant-store-b', 'Running'],
      ['plant-store-starting', 'Pending'],
      ['plant-store-evicted', 'Failed'],
    ].flatMap(([name, phase]) =>
      ports.map((port) => ({
        targets: [`127.255.255.254:${port.containerPort}`],
        labels: {
          __meta_kubernetes_pod_name: name,
          __meta_kubernetes_pod_phase: phase,
          __meta_kubernetes_pod_container_port_name: port.name,
        },
      })),
    );
    await writeFile(workspace.path('pods.json'), JSON.stringify(found));
    config.rule_files = config.rule_files.map((file) => resolve('deploy/monitoring', file));
    delete config.scrape_configs[0].kubernetes_sd_configs;
    config.scrape_configs[0].file_sd_configs = [{ files: [workspace.path('pods.json')] }];
    const prometheus = await Prometheus.start(workspace, stringify(config));
    await vi.waitFor(async () => {
      const { activeTargets } = await prometheus.api<{
        activeTargets: { labels: Record<string, string>; scrapeUrl: string }[];
      }>('targets?state=active');
      const instances = activeTargets.map((target) => [target.scrapeUrl, target.labels]);
      const url = 'http://127.255.255.254:3001/metrics';
      expect(instances).toHaveLength(2);
      expect(instances).toContainEqual([url, { job: 'plant-store', instance: 'plant-store-a' }]);
      expect(instances).toContainEqual([url, { job: 'plant-store', instance: 'plant-store-b' }]);
    }, PATIENCE);
    await prometheus.stop();
    await workspace.remove();
  });
});

/** What deploy/kubernetes makes the pods of the service of. */
async function podsOfTheService() {
  const manifest = async (file: string) =>
    parse(await readFile(`deploy/kubernetes/base/${file}`, 'utf8')) as unknown;
  const deployment = (await manifest('deployment.yaml')) as {
    spec: {
      template: {
        metadata: { labels: Record<string, string> };
        spec: { containers: [{ ports: { name: string; containerPort: number }[] }] };
      };
    };
  };
  const { metadata, spec } = deployment.spec.template;
  const { labels } = (await manifest('kustomization.yaml')) as {
    labels: [{ pairs: Record<string, string> }];
  };
  const name = 'app.kubernetes.io/name';
  // Which is the name of the job, too.
  expect(labels[0].pairs[name]).toBe('plant-store');
  return {
    labels: { [name]: 'plant-store', ...metadata.labels },
    ports: spec.containers[0].ports,
  };
}

/** One of each: a create, a look, a replay, a refusal, a path that is not there. */
async function beBusy(url: string, id: number): Promise<void> {
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
  const create = (body: unknown) =>
    fetch(`${url}/plants`, { method: 'POST', headers, body: JSON.stringify(body) });
  const requests = [
    create({ id, name: 'Monstera' }),
    create({ id: 1, name: 'Monstera' }),
    create({ id, name: 7 }),
    fetch(`${url}/plants/1`, { headers }),
    fetch(`${url}/nothing`, { headers }),
  ];
  // The service ends while requests are under way.
  await Promise.allSettled(requests);
}

/** What an expression selects: names and the braces behind them, outside of brackets and `by (…)`. */
function selectorsIn(expression: string): string[] {
  const bare = expression.replaceAll(/\[[^\]]*\]|\bby \([^)]*\)/g, ' ');
  return bare.match(/\b(up|[a-z]+_[\w:]+)\b(?!\s*\()(\{[^}]*\})?/g) ?? [];
}

/** The series in an expression. */
function namesIn(expression: string): string[] {
  return selectorsIn(expression).map((selector) => selector.replace(/\{.*/, ''));
}

/** A real one, with a folder of its own. */
class Prometheus {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(workspace: Workspace, config: string): Promise<Prometheus> {
    const port = await lastingPort();
    const url = `http://127.0.0.1:${port}`;
    await mkdir(workspace.path('prometheus'));
    await writeFile(workspace.path('prometheus.yml'), config);
    const child = spawn(
      'prometheus',
      [
        `--config.file=${workspace.path('prometheus.yml')}`,
        `--storage.tsdb.path=${workspace.path('prometheus')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    await vi.waitFor(async () => expect((await fetch(`${url}/-/ready`)).ok).toBe(true), PATIENCE);
    return new Prometheus(child, url);
  }

  async api<T>(path: string): Promise<T> {
    const { status, data, error } = (await (await fetch(`${this.url}/api/v1/${path}`)).json()) as {
      readonly status: string;
      readonly data: T;
      readonly error?: string;
    };
    expect(error).toBeUndefined();
    expect(status).toBe('success');
    return data;
  }

  async stop(): Promise<void> {
    this.child.kill();
    if (this.child.exitCode === null) await once(this.child, 'exit');
  }
}
