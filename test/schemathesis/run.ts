import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';

const SCHEMATHESIS = resolve('node_modules/.cache/schemathesis/bin/schemathesis');
const CONFIG = resolve('test/schemathesis/schemathesis.toml');
const HOOKS = resolve('test/schemathesis/hooks.py');

/** Milliseconds for one run, which takes 30 seconds at most on a machine that is not busy. */
export const BOUND = 300_000;

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

/**
 * Runs Schemathesis against a service.
 *
 * @param folder of this run alone, because Schemathesis stores what it learns in files
 * @param document its address or its file
 */
export async function schemathesis(
  service: { readonly url: string; readonly token: string },
  folder: string,
  document: string,
  ...options: readonly string[]
): Promise<Run> {
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
          PLANT_STORE_TOKEN: service.token,
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

/** What is expected of a run that finds nothing. */
export function expectNoDifference({ exitCode, output, report }: Run): void {
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
}
