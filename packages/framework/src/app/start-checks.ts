import type { INestApplication, Type } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { ScopeCheck } from '../auth/scopes/scope-check.js';
import { requireNone } from '../errors/startup.error.js';
import { Resources } from '../resources/resources.js';
import { classMistakes } from './class-checks.js';
import { configurationMistakes } from './configured-app.js';
import { enhancerMistakes } from './required-enhancers.js';
import { routeMistakes } from './route-checks.js';

/**
 * Finds what would otherwise go wrong at a request, or in the tables. It needs no database, so the migration commands and the
 * documents have the same checks as the start, before anything is written.
 *
 * @throws StartupError with a line for each mistake
 */
export async function checkDeclarations(app: INestApplication, module: Type): Promise<void> {
  const dataSource = app.get(DataSource);
  // TypeORM itself makes the metadata when it connects, and then again.
  const ofTypeOrm = await dataSource['buildMetadatas']().then(
    () => [],
    ({ message }: Error) => [message],
  );
  const controllers = new DiscoveryService(app.get(ModulesContainer)).getControllers();
  requireNone([
    ...enhancerMistakes(app, module),
    ...configurationMistakes(app),
    ...app.get(ScopeCheck).mistakes,
    ...controllers.flatMap(({ metatype }) => routeMistakes(metatype as Type)),
    ...classMistakes(app),
    ...ofTypeOrm,
    ...app.get(Resources).mistakes,
  ]);
}
