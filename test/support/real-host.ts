import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { ShimProgram } from '../../src/adapters/processes/processes.ts';
import type { AgentProcess } from '../../bench/host/host-process.ts';
import { startAgentProcess } from '../../bench/host/host-process.ts';
import type { WorkerOptions } from '../../bench/host/host-worker.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { removeFolder } from './folders.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const hook = join(root, 'test', 'support', 'ts-hook.mjs');

/** Compiled once for all test files, and again when its sources change. */
const COMPILED = join(root, '.moorage', 'test');

/**
 * The compiled shim, in a folder of its own; null where there is no C compiler.
 * @param how `sanitize`: with the sanitizers for addresses and undefined behaviour; null where the compiler has none
 */
export function buildShim(folder: string, how: 'plain' | 'sanitize' = 'plain'): string | null {
  const name = how === 'plain' ? 'moorage-shim' : 'moorage-shim-checked';
  const compiled = join(COMPILED, name);
  const build = join(root, 'host-agent', 'native', 'build.mjs');
  const args = how === 'plain' ? [compiled] : [compiled, '--sanitize'];
  const done = spawnSync(process.execPath, [build, ...args], { encoding: 'utf8' });
  const cannot = done.stderr.includes('no C compiler') || /cannot find .*(asan|ubsan)/.test(done.stderr);
  // Tests of it are skipped where there is none, but not unseen.
  if (cannot && process.env['MOORAGE_REQUIRE_ALL'] !== '1') return null;
  if (done.stderr !== '') throw new Error(done.stderr);
  copyFileSync(compiled, join(folder, name));
  return join(folder, name);
}

/** The shim in TypeScript: as built when the tests follow a build, else from its sources, which takes a second longer. */
export const PLAIN_SHIM: ShimProgram = {
  kind: 'command',
  argv:
    process.env['MOORAGE_TEST_RUN'] === undefined
      ? [process.execPath, '--import', hook, join(root, 'host-agent', 'shim', 'main.ts')]
      : [process.execPath, join(root, 'dist', 'host-agent', 'shim', 'main.js')],
};

export interface TestFolder {
  readonly path: string;
  [Symbol.dispose](): void;
}

export function stateFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'moorage-host-'));
  return { path, [Symbol.dispose]: () => removeFolder(path) };
}

/**
 * A folder that tasks see as it is, and may write to: as strangers on their host they have neither its state folder nor its
 * `/tmp`. Without root they have, and are held to nothing.
 */
export function openFolder(): TestFolder {
  const path = mkdtempSync(join(process.getuid?.() === 0 ? '/run' : tmpdir(), 'moorage-open-'));
  chmodSync(path, 0o777);
  return { path, [Symbol.dispose]: () => removeFolder(path) };
}

export type AgentChild = AgentProcess;

/** The built one: to load its sources takes ten times the processor. */
export const BUILT_AGENT = join(root, 'dist', 'bench', 'host', 'host-worker.js');

/**
 * A host-agent in a process of its own, as built, that asks for no tickets and keeps small logs.
 * @param options `runAs`: the user and group that it becomes once it has read its program
 * @param within a command that runs the agent as its own process, in another surrounding
 * @throws with what it said when it does not come up
 */
export function startAgentChild(
  folder: string,
  shim: string,
  options: WorkerOptions = {},
  within: readonly string[] = [],
): Promise<AgentChild> {
  const more = { settings: { logBounds: { segmentBytes: 64 * 1024, segmentsMax: 64 } }, ...options };
  return startAgentProcess(folder, { argv: [BUILT_AGENT], shim, more, within });
}

/** Asks until the report satisfies the test. Bounded by the test's own deadline. */
export async function untilReport(
  client: HostClient,
  address: string,
  id: string,
  test: (report: AllocationReport) => boolean,
): Promise<AllocationReport> {
  for (;;) {
    const report = await client.get(address, id);
    if (report !== null && test(report)) return report;
    await new Promise((next) => setTimeout(next, 20));
  }
}

export async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** For a test file that runs agents with the compiled shim, and asks them: all of it is gone after the file's last test. */
export function shimAndClient(): { tools: TestFolder; shim: string | null; client: HostClient } {
  const tools = stateFolder();
  const http = hostClient();
  afterAll(async () => {
    await http.close();
    tools[Symbol.dispose]();
  });
  return { tools, shim: buildShim(tools.path), client: http.client };
}

export function hostClient(): { client: HostClient; close(): Promise<void> } {
  const http = undiciClient();
  return { client: new HostClient(http), close: () => http.close() };
}
