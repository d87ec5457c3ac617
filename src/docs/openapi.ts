import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import { ERROR_TABLE } from '../errors/error-table.js';
import type { ErrorDefinition } from '../errors/error-table.js';

const DESCRIPTION = `A plant store: add plants and look at them.

Every operation needs a bearer token. Failures are answered with an Error, whose number tells them apart:

| error | status | meaning |
| --- | --- | --- |
${Object.values<ErrorDefinition>(ERROR_TABLE)
  .map(({ number, status, message }) => `| ${number} | ${status} | ${message} |`)
  .join('\n')}`;

/**
 * Writes the OpenAPI 3.1 document of the service. JSON, with exact digits and sorted keys, so that
 * two versions of it differ only where the service does.
 *
 * @param servers addresses to send requests to, the first one by default
 */
export function openApiText(app: INestApplication, servers: readonly string[]): string {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addBearerAuth({ type: 'http', scheme: 'bearer' }, 'bearerAuth')
    .addSecurityRequirements('bearerAuth');
  for (const server of servers) builder.addServer(server);
  // The servers carry the prefix, so that the paths are those of the interface wherever it is served.
  const document = SwaggerModule.createDocument(app, builder.build(), { ignoreGlobalPrefix: true });
  return `${stringify(sortKeys(document), undefined, 2)}\n`;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  );
}
