import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import type { Logger } from 'pino';
import type { DataSource } from 'typeorm';
import { readCommandConfig } from '../config/config.js';
import type { CommandConfig } from '../config/config.js';
import { constant, secretOf } from '../config/secret-file.js';
import type { Secret } from '../config/secret-file.js';
import { VARIABLES } from '../config/variables.js';
import type { DatabaseSchema } from '../database/data-source.js';
import { tableNeedsOf } from '../database/table-needs.js';
import { generateMigration } from '../database/migrations/migration-file.js';
import { applyMigrations, revertMigration } from '../database/migrations/migrate.js';
import { withDataSource } from '../database/connect.js';
import { onLocalInstance } from '../local.js';
import { allSortIndexes } from '../resources/reads/sort-indexes.js';
import { createLogger } from '../observability/logger.js';
import { StartupError } from '../errors/startup.error.js';
import { schemaOf } from '../app/detached-app.js';
import { serviceModuleOf } from '../app/framework.module.js';
import { runProgram } from '../app/run-program.js';
import { SourceError, withAdditions, writeAll } from './sources/sources.js';
import { formatted } from './formatted.js';

interface Task {
  readonly app: Type;
  readonly command: string;
  /** Of a migration to generate, in Pascal case. */
  readonly name: string;
  /** The folder in `src` of the module of the migration. */
  readonly folder: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Runs the command line `generate AddColour tools`, `run` or `revert` on the database of `DATABASE_URL` or of the local
 * instance. Sets the exit code of the process.
 *
 * @param app imports `FrameworkModule.forRoot(…)`
 *
 * @example await migrationCommand(AppModule);
 */
export async function migrationCommand(app: Type): Promise<void> {
  const [command = '', name = '', folder = ''] = process.argv.slice(2);
  let log = createLogger('info');
  process.exitCode = await runProgram(
    serviceModuleOf(app).identity,
    async (signal) => {
      // Before other variables, whose mistakes are logged in this format.
      log = createLogger(
        'info',
        undefined,
        VARIABLES.LOG_FORMAT.parse(process.env['LOG_FORMAT'] ?? ''),
      );
      try {
        await migrate({ app, command, name, folder, log, signal });
      } catch (error) {
        throw signal.aborted ? new StartupError('interrupted') : error;
      }
    },
    (error) => {
      if (!(error instanceof StartupError)) log.fatal({ err: error });
      else for (const line of error.message.split('\n')) log.fatal(line);
    },
  );
}

async function migrate(task: Task): Promise<void> {
  const { app, command, name, log, signal } = task;
  const config = readCommandConfig(process.env);
  const { databaseUrl } = config;
  if (!['generate', 'run', 'revert'].includes(command)) {
    throw new StartupError('usage: migration generate NAME MODULE | run | revert');
  }
  if (command === 'generate' && !/^([A-Z][a-z0-9]*)+$/.test(name)) {
    throw new StartupError('the name of a migration must be in Pascal case, such as AddColour');
  }
  if (command === 'generate' && !existsSync(moduleFile(task))) {
    throw new StartupError(`there is no ${moduleFile(task)}`);
  }
  if (databaseUrl !== undefined) {
    return perform(task, secretOf('DATABASE_URL', databaseUrl, config, log), config);
  }
  await onLocalInstance(serviceModuleOf(app).identity, log, signal, ({ url }) =>
    perform(task, constant(url), config),
  );
}

async function perform(
  task: Task,
  url: Secret<string>,
  { schema: place, serviceRole: role }: CommandConfig,
): Promise<void> {
  const { app, command, log, signal } = task;
  const schema = await schemaOf(app);
  const settings = { identity: serviceModuleOf(app).identity, url, schema: place, poolMax: 2 };
  const waiting = { log, signal };
  await withDataSource(settings, schema, waiting, async (dataSource) => {
    if (command === 'revert') await revertMigration(dataSource, waiting);
    else await applyMigrations(dataSource, waiting, role && { role, schema });
    if (command === 'generate') await generate(task, dataSource, schema);
  });
}

async function generate(
  task: Task,
  dataSource: DataSource,
  { entities, owners }: DatabaseSchema,
): Promise<void> {
  const { name, folder, log } = task;
  const source = readFileSync(moduleFile(task), 'utf8');
  const modules = new Set(Array.from(source.matchAll(/\bclass (\w+)/g), ([, found]) => found));
  const declarations = {
    isOwn: (entity: Function) => modules.has(owners?.get(entity)),
    indexes: allSortIndexes(dataSource),
  };
  const report = (sentence: string): void => log.warn(sentence);
  const migration = await generateMigration(dataSource, name, Date.now(), report, declarations);
  for (const entity of entities) await tableNeedsOf(entity).check?.(dataSource, log);
  if (migration === undefined) {
    log.info('the schema already matches the entities: nothing to migrate');
    return;
  }
  const { fileName, className } = migration;
  const file = join('src', folder, 'migrations', fileName);
  const module = moduleFile(task);
  const path = `./migrations/${fileName.replace(/ts$/, 'js')}`;
  try {
    const addition = { list: 'migrations', name: className, path } as const;
    writeAll('.', {
      created: [{ file, text: await formatted(file, migration.source) }],
      changed: [{ file: module, text: await withAdditions('.', module, [addition]) }],
    });
  } catch (error) {
    const isFileError = (error as NodeJS.ErrnoException).syscall !== undefined;
    if (!(error instanceof SourceError) && !isFileError) throw error;
    throw new StartupError((error as Error).message, { cause: error });
  }
  log.info(`wrote ${file}, and added it to ${module}`);
}

function moduleFile({ folder }: Task): string {
  return join('src', folder, `${folder}.module.ts`);
}
