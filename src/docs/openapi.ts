import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { stringify } from 'lossless-json';
import type { Config } from '../config/config.js';
import { ERROR_TABLE } from '../errors/error-table.js';
import type { ErrorDefinition } from '../errors/error-table.js';

const ERROR_NUMBERS = Object.values<ErrorDefinition>(ERROR_TABLE)
  .map(({ number, status, message }) => `| ${number} | ${status} | ${message} |`)
  .join('\n');

function descriptionFor(basePath: string): string {
  return `A store of plants: create one, and look at it again.

**A token** goes with every request. A local service has one ready: \`npm start\` prints it, and with \`docker compose up\` it is in the log. Elsewhere, ask whoever runs the service. Press **Authorize** and paste it. This page keeps it in this browser; **Authorize**, then **Logout** makes it forget.

**Try it:** open an operation and press **Execute**. The examples work as they are, from top to bottom; each has an id of its own.

**Failures** are answered with an Error such as \`{"error":40100,"message":"…"}\`. Its number tells them apart and never changes its meaning; the first three digits are the status. A 503 may be sent again after \`Retry-After\`.

<details>
<summary>All error numbers</summary>

| error | status | meaning |
| --- | --- | --- |
${ERROR_NUMBERS}

</details>

The document behind this page: [JSON](${basePath}/openapi.json), [YAML](${basePath}/openapi.yaml).`;
}

/**
 * Writes the OpenAPI 3.1 document of the service. JSON, with exact digits and sorted keys, so that
 * two versions of it differ only where the service does.
 */
export function openApiText(
  app: INestApplication,
  { basePath, publicBaseUrl }: Config['http'],
): string {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Plant Store')
    .setDescription(descriptionFor(basePath))
    .setVersion('1.0.0')
    .setLicense('MIT', `${basePath}/docs/LICENSE`)
    .setExternalDoc('README: start, call, configure and deploy it', `${basePath}/docs/README.md`)
    .addTag('plants', 'Everything about plants.')
    .addSecurity('bearerAuth', {
      type: 'http',
      scheme: 'bearer',
      description:
        'Paste the token alone, without the word Bearer. Logout makes this page forget it.',
    })
    .addSecurityRequirements('bearerAuth')
    // The path alone comes first: requests then go to wherever the page was loaded from.
    .addServer(basePath || '/', 'where this document came from');
  if (publicBaseUrl !== undefined) builder.addServer(publicBaseUrl, 'from anywhere');
  // The servers carry the prefix, so that the paths are those of the interface wherever it is served.
  const document = SwaggerModule.createDocument(app, builder.build(), { ignoreGlobalPrefix: true });
  return `${stringify(sortKeys(document), undefined, 2)}\n`;
}

/** Writes a document of {@link openApiText} as YAML, with the same digits. */
export async function toYaml(text: string): Promise<string> {
  // Few people ask for it, so no start has to load it.
  const yaml = await import('yaml');
  return yaml.stringify(yaml.parse(text, { intAsBigInt: true }), { lineWidth: 0 });
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
