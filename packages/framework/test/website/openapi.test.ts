import { Controller, Get, Module } from '@nestjs/common';
import { expect, it } from 'vitest';
import { RequireScope } from '../../src/auth/require-scope.decorator.js';
import { CONFIG } from '../../src/config/config.module.js';
import { createDetachedApp } from '../../src/detached-app.js';
import { FrameworkModule } from '../../src/framework.module.js';
import { openApiText } from '../../src/openapi/openapi.js';
import { IDENTITY } from '../support/identity.js';

@Controller('tools')
class ToolsController {
  @Get()
  @RequireScope('tools:read')
  list(): readonly string[] {
    return [];
  }
}

@Module({ imports: [FrameworkModule.forRoot(IDENTITY)], controllers: [ToolsController] })
class AppModule {}

it('the document has the Error and the scopes of operations that nobody has documented', async () => {
  const app = await createDetachedApp(AppModule);
  const document = JSON.parse(openApiText(app, app.get(CONFIG))) as object;
  await app.close();
  expect(document).toMatchObject({
    info: { title: 'Tool Library' },
    paths: { '/tools': { get: { 'x-required-scope': 'tools:read', responses: { default: {} } } } },
    components: { schemas: { Error: { properties: { error: { type: 'integer' } } } } },
  });
});
