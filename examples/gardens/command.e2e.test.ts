import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { CommandProcess } from '../../test/support/plant-store-command.js';
import { csvOf } from '../../test/support/resources.js';
import { startTestService } from '../../test/support/test-service.js';
import type { TestService } from '../../test/support/test-service.js';

/** The command that is built with the document of the example. */
let service: TestService;
let folder: string;

beforeAll(async () => {
  service = await startTestService();
});

beforeEach(async () => {
  await service.database.empty();
  folder = await mkdtemp(join(tmpdir(), 'gardens-command-'));
});

afterEach(() => rm(folder, { recursive: true }));

afterAll(() => service.stop());

function run(command: string, ...args: readonly string[]) {
  const all = [command, '--resource', 'gardens', ...args];
  return new CommandProcess(service.url, all, { cwd: folder }).result;
}

it.each(['csv', 'ndjson'])('an export can be imported again, as %s', async (format) => {
  const lines = [
    '{"id":1,"name":"Kitchen, \\"south\\"","note":""}',
    '{"id":9223372036854775807,"name":"Yard"}',
    '',
  ];
  await writeFile(join(folder, 'gardens.ndjson'), lines.join('\n'));
  expect(await run('import', 'gardens.ndjson')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^created 2, .* gardens\/s\)\n$/) as string,
  });
  expect((await run('export', '--output', `all.${format}`)).stderr).toMatch(/^exported 2 gardens /);
  await service.database.empty();
  await run('import', `all.${format}`);
  expect((await run('export')).stdout).toBe(lines.join('\n'));
});

it('CSV has the columns of the schema', async () => {
  const { stdout } = await run('export', '--format', 'csv');
  expect(stdout).toBe(csvOf('gardens'));
  await writeFile(join(folder, 'a.csv'), 'name,nonsense\nYard,5\n');
  const [id, name, ...optional] = stdout.trim().split(',');
  expect((await run('import', 'a.csv')).stderr).toContain(
    `the first line must have ${id} and ${name}, and may have ${optional.join(' and ')},`,
  );
});

// #region plants
it('an export has the filters of the operation', async () => {
  await service.post({ id: 5, name: 'Aloe' });
  await writeFile(join(folder, 'a.csv'), 'id,name,plantId\n1,Yard,5\n2,Court,\n3,Bed,404\n');
  expect((await run('import', 'a.csv')).stderr).toContain('a.csv:4: 40921 ');
  const { stdout } = await run('export', '--plant-id', '5', '--format', 'csv');
  expect(stdout).toBe(csvOf('gardens', { id: '1', name: '"Yard"', plantId: '5' }));
  expect((await run('export', '--help')).stdout).toContain(
    '--plant-id <integer>   only gardens with this plant\n',
  );
});

it('plants are imported and exported as without the example', async () => {
  await service.post({ id: 5, name: 'Aloe' });
  const { result } = new CommandProcess(service.url, ['export', '--format', 'csv']);
  const stdout = csvOf('plants', { id: '5', name: '"Aloe"' });
  expect(await result).toMatchObject({ code: 0, stdout });
});
// #endregion
