import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConnection } from '../../packages/command/src/connection/connection.js';
import { LIMITS } from '../../packages/command/src/connection/limits.js';
import { readCommandConfig, readConfig } from '../../packages/framework/src/config/config.js';
import { VARIABLES } from '../../packages/framework/src/config/variables.js';
import { LAST_CALL } from '../../packages/framework/src/http/server/drain.js';
import { SHUTDOWN_LIMITS } from '../../packages/framework/src/app/service.js';
import { readDockerfile } from '../support/dockerfile.js';
import { SERVICE } from '../support/plant-store-command.js';
import { IDENTITY } from '../../src/identity.js';
import { VARIABLE_NAMES } from '../support/variables.js';

interface ComposeService {
  readonly build?: { readonly context: string; readonly args: readonly string[] };
  readonly image?: string;
  readonly pull_policy?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly profiles?: readonly string[];
  readonly restart?: string;
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<
    Record<'postgres' | 'migrate' | 'api' | 'prometheus' | 'grafana', ComposeService>
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const read = (file: string) => readFile(file, 'utf8');
const compose = parse(await read('docker-compose.yml'), { merge: true }) as Compose;
const { postgres, migrate, api, prometheus, grafana } = compose.services;

/** The value of a variable in the Compose file, after interpolation. */
function interpolate(value: string, environment: Readonly<Record<string, string>> = {}): string {
  return value.replaceAll(
    /\$\{(\w+)(:?-)([^}]*)\}/g,
    (_, name: string, operator: string, fallback: string) => {
      const given = environment[name];
      return given === undefined || (operator === ':-' && given === '') ? fallback : given;
    },
  );
}

/** Of `api` or of another service of the stack. */
function environmentOf(
  environment: Readonly<Record<string, string>> = {},
  { environment: own } = api,
) {
  return Object.fromEntries(
    Object.entries(own).map(([name, value]) => [name, interpolate(value, environment)]),
  );
}

const UNPRIVILEGED = {
  read_only: true,
  cap_drop: ['ALL'],
  security_opt: ['no-new-privileges:true'],
};

describe('the local stack', () => {
  it('starts one after the other: database, migrations, service', () => {
    const always = Object.entries(compose.services).filter(([, { profiles }]) => !profiles);
    expect(always.map(([name]) => name)).toEqual(['postgres', 'migrate', 'api']);
    expect(postgres.healthcheck?.test).toContain('--host=127.0.0.1');
    expect(migrate.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    expect(migrate.command).toEqual(['node', 'dist/cli/migration.js', 'run']);
    expect(api.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    expect(api.environment['DATABASE_MIGRATE_ON_START']).toBe('false');
  });

  it('starts each server again that fails, but not for ever, and never the migrations', () => {
    const { migrate: once, ...servers } = compose.services;
    for (const server of Object.values(servers)) expect(server.restart).toBe('on-failure:5');
    expect(once.restart).toBeUndefined();
  });

  it('is reached from this machine only', () => {
    expect(postgres.ports).toBeUndefined();
    expect(api.ports?.map((port) => interpolate(port))).toEqual(['127.0.0.1:3000:3000']);
    expect(api.ports?.map((port) => interpolate(port, { PORT: '8080' }))).toEqual([
      '127.0.0.1:8080:8080',
    ]);
  });

  it('drops all privileges of migrations and service', () => {
    for (const service of [migrate, api]) expect(service).toMatchObject(UNPRIVILEGED);
  });

  it('builds the image once, under the name that `docker run` uses in the documentation', async () => {
    expect(migrate).toMatchObject({
      build: { context: '.', args: ['NPM_CONFIG_REGISTRY'] },
      image: 'plant-store',
      pull_policy: 'build',
    });
    expect(api).toMatchObject({ image: 'plant-store', pull_policy: 'never' });
    // Two builds of one name at a time can fail, with "already exists".
    expect(Object.values(compose.services).filter(({ build }) => build)).toEqual([migrate]);
    expect(await read('docs/command.md')).toContain(' plant-store plant-store import ');
  });

  it('works without a file .env, with a token that production refuses', () => {
    const environment = { NODE_ENV: 'production', ...environmentOf() };
    expect(readConfig(IDENTITY, environment)).toMatchObject({
      auth: { token: expect.stringMatching(/^plant-store-local-/) },
      database: { url: api.environment['DATABASE_URL'], migrateOnStart: false },
      http: { port: 3000 },
    });
    expect(() =>
      readConfig(IDENTITY, { ...environment, PUBLIC_BASE_URL: 'https://plants.example.com' }),
    ).toThrow('AUTH_TOKEN must not begin with plant-store-local-');
  });

  it.each([
    [{}, 'http://localhost:3000'],
    [{ PORT: '8080', PUBLIC_BASE_URL: 'http://localhost:8080/api/' }, 'http://localhost:8080/api'],
  ])('tells the command the service, with the variables %j', async (variables, baseUrl) => {
    const image = { NODE_ENV: 'production', HOST: '::', MANAGEMENT_HOST: '::' };
    const environment = { ...image, ...environmentOf(variables) };
    const connection = await readConnection(SERVICE, environment, LIMITS);
    expect(connection.baseUrl).toBe(baseUrl);
    expect(await connection.token()).toBe(environmentOf(variables)['AUTH_TOKEN']);
  });

  it('can be published at 3001, the next port that people take', () => {
    const image = { NODE_ENV: 'production', HOST: '::', MANAGEMENT_HOST: '::' };
    const environment = { ...image, ...environmentOf({ PORT: '3001' }) };
    expect(readConfig(IDENTITY, environment)).toMatchObject({ http: { port: 3001 } });
  });

  it('has nothing that docker-compose 1.29 refuses', async () => {
    expect(Object.keys(compose)).toEqual([
      'x-unprivileged',
      'x-service',
      'x-restart',
      'services',
      'volumes',
    ]);
    expect(await read('docker-compose.yml')).not.toMatch(/\$\{[^}]*\$\{/);
    for (const one of Object.values(compose.services)) {
      for (const dependency of Object.values(one.depends_on ?? {})) {
        expect(Object.keys(dependency)).toEqual(['condition']);
      }
      const keys = ['test', 'interval', 'timeout', 'retries'];
      expect(keys).toEqual(expect.arrayContaining(Object.keys(one.healthcheck ?? {})));
    }
  });

  it('applies .env, except variables that the stack itself sets', () => {
    const decided = new Set(['DATABASE_URL', 'DATABASE_MIGRATE_ON_START', 'MANAGEMENT_PORT']);
    // Of the image, of deploy/compose/secrets.yml, and of the migrations.
    const others = new Set([
      'HOST',
      'MANAGEMENT_HOST',
      'DATABASE_URL_FILE',
      'DATABASE_SERVICE_ROLE',
      'DATABASE_SERVICE_PASSWORD',
      'DATABASE_SERVICE_PASSWORD_FILE',
    ]);
    expect(Object.keys(api.environment).toSorted()).toEqual(
      VARIABLE_NAMES.filter((name) => !others.has(name)).toSorted(),
    );
    for (const name of Object.keys(api.environment)) {
      if (!decided.has(name)) expect(environmentOf({ [name]: 'set' })[name]).toBe('set');
    }
    const schema = { DATABASE_SCHEMA: 'plants' };
    expect(readCommandConfig(environmentOf(schema, migrate)).schema).toBe('plants');
    const token = 'x'.repeat(32);
    expect(readConfig(IDENTITY, environmentOf({ AUTH_TOKEN: token })).auth.token).toBe(token);
    expect(environmentOf({ AUTH_TOKEN: '' })['AUTH_TOKEN']).toBe('');
  });

  it('takes the secrets from files with deploy/compose/secrets.yml', async () => {
    const overlay = parse(await read('deploy/compose/secrets.yml')) as typeof compose;
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-compose-'));
    const token = 'x'.repeat(32);
    const url = 'postgres://plant_store_service:secret@postgres:5432/plant_store';
    const ownerUrl = 'postgres://plant_store:other@postgres:5432/plant_store';
    for (const [name, content] of [
      ['token', token],
      ['database-url', url],
      ['owner-url', ownerUrl],
      ['service-password', 'secret'],
    ] as const) {
      await writeFile(join(folder, name), `${content}\n`);
    }
    const inFolder = (environment: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(environment).map(([name, value]) => [
          name,
          value.replace(/^\/run\/plant-store/, folder),
        ]),
      );
    const { api: service, migrate: migration, postgres: server } = overlay.services;
    const environment = { ...environmentOf(), ...service.environment };
    expect(
      readConfig(IDENTITY, { NODE_ENV: 'production', ...inFolder(environment) }),
    ).toMatchObject({
      auth: { token, previousToken: undefined },
      database: { url },
    });
    const migrating = { ...environmentOf({}, migrate), ...migration.environment };
    expect(readCommandConfig(inFolder(migrating))).toMatchObject({
      databaseUrl: ownerUrl,
      serviceRole: { name: 'plant_store_service', password: 'secret' },
    });
    for (const { volumes } of [service, migration, server]) {
      expect(volumes).toEqual(['./secrets:/run/plant-store:ro']);
    }
    await rm(folder, { recursive: true });
  });

  it('waits for the longest shutdown of the service, with any SHUTDOWN_DELAY', () => {
    const longest = 300;
    expect(VARIABLES.SHUTDOWN_DELAY.parse(String(longest))).toBe(longest);
    expect(VARIABLES.SHUTDOWN_DELAY.parse(String(longest + 1))).toBeUndefined();
    const { drain, close } = SHUTDOWN_LIMITS;
    const [, seconds] = /^(\d+)s$/.exec(api.stop_grace_period ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(
      longest + (LAST_CALL + drain + LAST_CALL + close) / 1_000,
    );
  });
});

describe('the profile monitoring', () => {
  const both = [
    ['prometheus', prometheus, 9090],
    ['grafana', grafana, 3000],
  ] as const;

  it.each(both)(
    'adds %s, of one version, without privileges, for this machine',
    (name, service, inside) => {
      expect(service).toMatchObject({
        profiles: ['monitoring'],
        image: expect.stringMatching(/:v?\d+\.\d+\.\d+$/),
        ...UNPRIVILEGED,
      });
      expect(compose.volumes).toHaveProperty(name);
      expect(service.volumes?.filter((volume) => volume.startsWith(`${name}:/`))).toHaveLength(1);
      const ports = service.ports?.map((port) => interpolate(port));
      expect(ports).toEqual([
        expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:\\d+:${inside}$`)),
      ]);
    },
  );

  it('uses every port once, and keeps the management port', () => {
    const published = [api, prometheus, grafana]
      .flatMap(({ ports = [] }) => ports)
      .map((port) => interpolate(port).split(':'));
    const outside = published.map(([, port]) => port);
    expect(new Set(outside).size).toBe(outside.length);
    expect(published.map(([, , port]) => port)).not.toContain(environmentOf()['MANAGEMENT_PORT']);
  });

  it('configures Prometheus with the address of the metrics, with any .env', async () => {
    const { scrape_configs: jobs } = parse(await read('deploy/monitoring/prometheus.yml')) as {
      readonly scrape_configs: readonly {
        readonly static_configs: readonly { readonly targets: readonly string[] }[];
      }[];
    };
    const targets = jobs.flatMap(({ static_configs: all }) => all.flatMap((each) => each.targets));
    const { management } = readConfig(IDENTITY, environmentOf({ MANAGEMENT_PORT: '4000' }));
    expect(targets).toEqual([`api:${management.port}`]);
  });

  it('needs no login, so there is no password', () => {
    expect(grafana.environment).toMatchObject({
      GF_AUTH_ANONYMOUS_ENABLED: 'true',
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
      GF_AUTH_BASIC_ENABLED: 'false',
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    });
    expect(Object.keys(grafana.environment).join()).not.toContain('PASSWORD');
  });

  it('mounts existing files read-only', async () => {
    const folders = [prometheus, grafana]
      .flatMap(({ volumes = [] }) => volumes)
      .filter((volume) => volume.startsWith('.'));
    expect(folders).toHaveLength(5);
    for (const folder of folders) {
      const [from = '', , mode] = folder.split(':');
      expect(mode).toBe('ro');
      await expect(access(from)).resolves.toBeUndefined();
    }
  });
});

describe('the image', () => {
  it('is built in one stage and run in another, of one version', async () => {
    const [build = [], run = [], ...others] = await readDockerfile();
    expect(others).toEqual([]);
    expect(build[0]).toMatch(/^FROM node:\d+-slim AS build$/);
    expect(`${run[0]} AS build`).toBe(build[0]);
    expect(build).toContain('RUN npm ci --ignore-scripts');
    // Declared before it, because Docker passes on no other variables.
    const before = build.slice(0, build.indexOf('RUN npm ci --ignore-scripts'));
    for (const name of migrate.build!.args) expect(before).toContain(`ARG ${name}`);
    expect(build.join('\n')).toContain('npm prune --omit=dev');
  });

  it('is built without pulling a syntax image', async () => {
    expect(await read('Dockerfile')).not.toMatch(/^#\s*syntax/im);
  });

  it('runs the service itself, as a user who is not root', async () => {
    const run = (await readDockerfile())[1] ?? [];
    expect(run.at(-1)).toBe(
      'CMD ["node", "--max-semi-space-size=16", "--no-maglev-destroy-on-background", "dist/main.js"]',
    );
    expect(run).toContain('USER 1000:1000');
    expect(run.some((line) => /^HEALTHCHECK .* CMD \["node", "-e", /.test(line))).toBe(true);
    for (const line of run) expect(line).not.toMatch(/^(RUN|ADD|ENTRYPOINT) /);
  });

  it('can be read by its user, whatever the umask that the files were cloned under', async () => {
    const [build = [], run = []] = await readDockerfile();
    const copies = run.filter((line) => line.startsWith('COPY '));
    for (const copy of copies) expect(copy).toMatch(/^COPY --from=build /);
    const shared = build.find((line) => line.startsWith('RUN chmod -R a+rX ')) ?? '';
    const sent = new Set((await read('.dockerignore')).split('\n'));
    for (const [, name = ''] of copies.join().matchAll(/\/app\/(\S+)/g)) {
      if (sent.has(`!${name}`)) expect(shared.split(' ')).toContain(name);
    }
  });

  it('has the list of the packages in the bundle where the documentation says', async () => {
    const [build = [], run = []] = await readDockerfile();
    expect(build.some((line) => line.startsWith('RUN npm run build'))).toBe(true);
    expect(run).toContain('WORKDIR /app');
    expect(run).toContain('COPY --from=build /app/dist dist');
    const [, path = ''] = /\/app\/(\S+\.cdx\.json)/.exec(await read('docs/security.md')) ?? [];
    expect(JSON.parse(await read(path))).toMatchObject({ bomFormat: 'CycloneDX' });
  });

  it('has labels', async () => {
    const { version, license, description } = JSON.parse(await read('package.json')) as Record<
      string,
      string
    >;
    const labels = (await readDockerfile())[1]?.find((line) => line.startsWith('LABEL ')) ?? '';
    for (const label of [
      `version="${version}"`,
      `licenses="${license}"`,
      `description="${description}"`,
      'title="Plant Store"',
      // oxlint-disable-next-line no-template-curly-in-string
      'revision="${REVISION}"',
    ]) {
      expect(labels).toContain(`org.opencontainers.image.${label}`);
    }
  });

  it('contains only files that it needs', async () => {
    const copied = (await readDockerfile())
      .flat()
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1));
    const sent = (await read('.dockerignore')).split('\n').filter((line) => /^[*!]/.test(line));
    expect(sent[0]).toBe('*');
    expect(sent.slice(1).toSorted()).toEqual(
      [...new Set(copied.map((name) => `!${name}`))].toSorted(),
    );
  });
});
