import { VERSION_NEUTRAL } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { VERSION_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { ApplicationConfig } from '@nestjs/core';
import { CONFIG } from '../config/config.module.js';
import type { Config } from '../config/config.js';

/** What `configure` has done to the application, or not done, so that Nest or the document would ignore something. */
export function configurationMistakes(app: INestApplication): readonly string[] {
  const { config } = app as unknown as { readonly config: ApplicationConfig };
  const { basePath } = app.get<Config>(CONFIG).http;
  return [
    ...(config.getGlobalPrefix() === basePath
      ? []
      : ['configure must not set a global prefix: the path of PUBLIC_BASE_URL is the prefix']),
    ...(config.getVersioning() === undefined ? versionMistakes(app) : []),
  ];
}

function versionMistakes(app: INestApplication): readonly string[] {
  const controllers = new DiscoveryService(app.get(ModulesContainer)).getControllers();
  return controllers.flatMap(({ metatype }) => {
    const { name, prototype } = metatype as Function & { readonly prototype: object };
    const handlers = new MetadataScanner()
      .getAllMethodNames(prototype)
      .map((method) => [`${name}.${method}`, Reflect.get(prototype, method) as object] as const);
    return [[name, metatype as object] as const, ...handlers]
      .filter(([, declared]) => hasVersion(declared))
      .map(
        ([declared]) =>
          `${declared} has a version, which needs FrameworkModule.forRoot(…, { configure: (app) => app.enableVersioning(…) })`,
      );
  });
}

function hasVersion(declared: object): boolean {
  const version: unknown = Reflect.getMetadata(VERSION_METADATA, declared);
  return version !== undefined && version !== VERSION_NEUTRAL;
}
