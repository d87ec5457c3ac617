import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OPERATIONS } from '../support/operations.js';
import { startTestService, TOKEN } from '../support/test-service.js';
import type { TestService } from '../support/test-service.js';

const SCHEMATHESIS = resolve('node_modules/.cache/schemathesis/bin/schemathesis');
const CONFIG = resolve('test/schemathesis/schemathesis.toml');
const HOOKS = resolve('test/schemathesis/hooks.py');

/** Milliseconds for one run, which takes 30 seconds at most on a machine that is not busy. */
const BOUND = 300_000;

interface Report {
  readonly complete: boolean;
  readonly operations: Record<'total' | 'tested' | 'skipped', number>;
  readonly phases: Record<string, { readonly status: string }>;
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly { readonly type: string; readonly operations: readonly string[] }[];
  /** How many of its valid requests an operation accepted, by operation and phase. */
  readonly valid_rates: Record<string, Record<string, { readonly accepted: number }>>;
}

interface Run {
  readonly exitCode: number | null;
  readonly output: string;
  readonly report: Report;
}

let service: TestService;
let folder: string;

beforeEach(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'plant-store-schemathesis-'));
});

afterEach(() => Promise.all([service.stop(), rm(folder, { recursive: true, force: true })]));

/** Runs Schemathesis against the service, in a folder of its own, because it stores what it learns in files. */
async function schemathesis(document: string, ...options: readonly string[]): Promise<Run> {
  const reportFile = join(folder, 'report.json');
  const { exitCode, output } = await new Promise<Omit<Run, 'report'>>((done) => {
    const child = execFile(
      SCHEMATHESIS,
      [
        `--config-file=${CONFIG}`,
        'run',
        document,
        `--url=${service.url}`,
        '--report=json',
        `--report-json-path=${reportFile}`,
        '--no-color',
        ...options,
      ],
      {
        cwd: folder,
        env: {
          ...process.env,
          NO_PROXY: '127.0.0.1',
          PLANT_STORE_TOKEN: TOKEN,
          PYTHONDONTWRITEBYTECODE: '1',
          SCHEMATHESIS_HOOKS: HOOKS,
        },
        timeout: BOUND,
      },
      (error, stdout, stderr) =>
        done({ exitCode: child.exitCode, output: `${error?.message ?? ''}\n${stdout}\n${stderr}` }),
    );
  });
  const report = await readFile(reportFile, 'utf8').catch(() => {
    throw new Error(`Schemathesis wrote no report\n${output}`);
  });
  return { exitCode, output, report: JSON.parse(report) as Report };
}

it.each([1, 2])(
  'finds no answer that differs from the document, with seed %i',
  async (seed) => {
    const { exitCode, output, report } = await schemathesis(
      `${service.url}/openapi.json`,
      `--seed=${seed}`,
    );
    // The output names the operation, and tells how to send the request again.
    expect(exitCode, `the exit code\n${output}`).toBe(0);
    expect(report).toMatchObject({
      complete: true,
      operations: { tested: report.operations.total, skipped: 0 },
      phases: {
        examples: { status: 'success' },
        coverage: { status: 'success' },
        fuzzing: { status: 'success' },
        // Follows the links of the document. Without links it would be skipped.
        stateful: { status: 'success' },
      },
      failures: [],
    });
    expect(report.test_cases.generated).toBeGreaterThan(200);
    expect(Object.keys(report.valid_rates)).toHaveLength(report.operations.total);
    const neverAccepted = Object.entries(report.valid_rates)
      // Not in every phase: fuzzing creates what exists already, with ids of earlier answers.
      .filter(([, phases]) => Object.values(phases).every(({ accepted }) => accepted === 0))
      .map(([operation, phases]) => `${operation}: ${JSON.stringify(phases)}`);
    expect(neverAccepted).toEqual([]);
    expect(service.log.filter(({ status }) => status === 500)).toEqual([]);
  },
  BOUND + 30_000,
);

it(
  'would find an answer that differs, of every create',
  async () => {
    const { text } = await service.request('GET', '/openapi.json', { anonymous: true });
    const document = JSON.parse(text) as {
      components: { schemas: Record<string, { required?: string[]; additionalProperties?: true }> };
    };
    // Only schemas of answers allow further members.
    for (const schema of Object.values(document.components.schemas)) {
      if (schema.additionalProperties === true) schema.required?.push('nonsense');
    }
    const file = join(folder, 'openapi.json');
    await writeFile(file, JSON.stringify(document));
    const { exitCode, report } = await schemathesis(file, '--phases=examples');
    const creates = OPERATIONS.filter(
      ({ method, body }) => method === 'POST' && body !== undefined,
    );
    expect(exitCode).toBe(1);
    const found = report.failures.filter(({ type }) => type === 'JsonSchemaError');
    expect(found.flatMap(({ operations }) => operations)).toEqual(
      expect.arrayContaining(creates.map(({ path }) => `POST ${path}`)),
    );
  },
  BOUND + 30_000,
);
