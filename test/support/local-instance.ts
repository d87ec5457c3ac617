import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { until } from './process.js';
import type { ServiceProcess, Workspace } from './process.js';

/* What tests do with a service that runs on its own embedded database. */

export function get(url: string, token: string): Promise<Response> {
  return fetch(url, { headers: { Authorization: `Bearer ${token}` } });
}

/** The stored plant, as text. */
export async function read(url: string, token: string, id: string): Promise<string> {
  return (await get(`${url}/plants/${id}`, token)).text();
}

/** The status of a `POST /plants`. */
export async function create(url: string, token: string, plant: string): Promise<number> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: plant,
  });
  await response.text();
  return response.status;
}

/** Ends a service, with SIGTERM or with the signals that are given, and looks at what is left. */
export async function expectCleanEnd(
  service: ServiceProcess,
  workspace: Workspace,
  ...signals: readonly NodeJS.Signals[]
): Promise<void> {
  for (const signal of signals) service.kill(signal);
  if (signals.length === 0) service.kill('SIGTERM');
  expect(await service.exit()).toEqual({ code: 0, signal: null });
  expect(service.stderr).toBe('');
  expect(await workspace.leftovers()).toEqual([]);
}

/** Waits until the first database of a folder is being made. */
export async function duringInitdb(workspace: Workspace): Promise<void> {
  const earlier = drafts(workspace);
  const begun = () =>
    drafts(workspace)
      .filter((name) => !earlier.includes(name))
      .some((name) => existsSync(workspace.path('.data', name, 'data', 'global', 'pg_control')));
  expect(await until(begun)).toBe(true);
  expect(existsSync(workspace.path('.data', 'postgres'))).toBe(false);
}

/** Databases that are being made, or that nobody finished. */
function drafts(workspace: Workspace): string[] {
  const data = workspace.path('.data');
  const names = existsSync(data) ? readdirSync(data) : [];
  return names.filter((name) => !['postgres', 'token'].includes(name));
}

/** The embedded server's own note of its process id and port. */
export function postmaster(workspace: Workspace): { pid: number; port: number } {
  const file = workspace.path('.data', 'postgres', 'data', 'postmaster.pid');
  const [pid, , , port] = readFileSync(file, 'utf8').split('\n');
  return { pid: Number(pid), port: Number(port) };
}

/** Of the embedded server. */
export function databaseUrlOf(workspace: Workspace): string {
  const password = readFileSync(workspace.path('.data', 'postgres', 'password'), 'utf8').trim();
  return `postgres://plant_store:${password}@127.0.0.1:${postmaster(workspace).port}/postgres`;
}
