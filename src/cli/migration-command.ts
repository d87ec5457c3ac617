import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { DataSource } from 'typeorm';
import { readCommandConfig } from '../config/config.js';
import { constant, secretOf } from '../config/secret-file.js';
import type { Secret } from '../config/secret-file.js';
import { VARIABLES } from '../config/variables.js';
import { connect } from '../database/connect.js';
import { dataSourceOf, dataSourceOptions } from '../database/data-source.js';
import { IDENTITY } from '../identity.js';
import { startEmbeddedPostgres } from '../local/embedded-postgres.js';
import { generateMigration, withMigration } from '../database/migrations/migration-file.js';
import { applyMigrations, revertMigration } from '../database/migrations/migrate.js';
import type { ServiceRole } from '../database/migrations/service-role.js';
import { LOCAL_FOLDER } from '../local/local-instance.js';
import { Metrics } from '../observability/metrics.js';
import { NO_TRACER } from '../observability/tracer.js';
import { createLogger } from '../observability/logger.js';
import { StartupError } from '../errors/startup.error.js';
import { schemaOf } from '../resources/feature.js';
import { runProgram } from '../run-program.js';

/* `npm run migration:generate -- Name feature`, `migration:run` and `migration:revert`, on the database of DATABASE_URL or of
   the local instance. */

const [command, name = '', feature = ''] = process.argv.slice(2);
const featureFile = join('src', feature, `${feature}.feature.ts`);
let log = createLogger('info');

process.exitCode = await runProgram(
  IDENTITY,
  (signal) =>
    migrate(signal).catch((error: unknown) => {
      throw signal.aborted ? new StartupError('interrupted') : error;
    }),
  (error) => {
    if (!(error instanceof StartupError)) log.fatal({ err: error });
    else for (const line of error.message.split('\n')) log.fatal(line);
  },
);

async function migrate(signal: AbortSignal): Promise<void> {
  // Mistakes in other variables are logged in this format, too.
  log = createLogger(
    'info',
    undefined,
    VARIABLES.LOG_FORMAT.parse(process.env['LOG_FORMAT'] ?? ''),
  );
  const config = readCommandConfig(process.env);
  const { databaseUrl, serviceRole } = config;
  if (!['generate', 'run', 'revert'].includes(command ?? '')) {
    throw new StartupError('usage: migration generate NAME FEATURE | run | revert');
  }
  if (command === 'generate' && !/^([A-Z][a-z0-9]*)+$/.test(name)) {
    throw new StartupError('the name of a migration must be in Pascal case, such as AddColour');
  }
  if (command === 'generate' && !existsSync(featureFile)) {
    throw new StartupError(`there is no ${featureFile}`);
  }
  if (databaseUrl !== undefined) {
    return perform(secretOf('DATABASE_URL', databaseUrl, config, log), serviceRole, signal);
  }
  const local = await startEmbeddedPostgres(IDENTITY, resolve(LOCAL_FOLDER), {
    log: (step) => log.info(step),
    signal,
  });
  try {
    await perform(constant(local.url), serviceRole, signal);
  } finally {
    await local.stop();
  }
}

async function perform(
  url: Secret<string>,
  role: ServiceRole | undefined,
  signal: AbortSignal,
): Promise<void> {
  // With the entities of all features.
  const { FEATURES } = await import('../features.js');
  const schema = schemaOf(FEATURES);
  const dataSource = dataSourceOf(
    dataSourceOptions({ identity: IDENTITY, url, poolMax: 2 }, schema, {
      logger: log,
      metrics: new Metrics(IDENTITY),
      tracer: NO_TRACER,
    }),
  );
  const waiting = { log, signal };
  try {
    await connect(dataSource, waiting);
    if (command === 'revert') await revertMigration(dataSource, waiting);
    else await applyMigrations(dataSource, waiting, role && { role, schema });
    if (command === 'generate') await generate(dataSource);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}

async function generate(dataSource: DataSource): Promise<void> {
  const migration = await generateMigration(dataSource, name, Date.now());
  if (migration === undefined) {
    log.info('the schema already matches the entities: nothing to migrate');
    return;
  }
  const { fileName, className, source } = migration;
  const file = join('src', feature, 'migrations', fileName);
  const listed = withMigration(await readFile(featureFile, 'utf8'), fileName, className);
  await mkdir(dirname(file), { recursive: true });
  await writeFormatted(file, source);
  await writeFormatted(featureFile, listed);
  log.info(`wrote ${file}, and added it to ${featureFile}`);
}

async function writeFormatted(file: string, source: string): Promise<void> {
  // Only those who change the service have it.
  const { format, resolveConfig } = await import('prettier');
  await writeFile(file, await format(source, { ...(await resolveConfig(file)), filepath: file }));
}
