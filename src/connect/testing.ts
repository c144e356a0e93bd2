/** `import { startCell } from 'moorage/testing'`: a cell of real processes for the tests of another program. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtFile } from '../adapters/system/package-files.ts';
import type { MonitorClient } from '../clients/monitor-client.ts';
import { cellsUnder } from './cell-address.ts';
import { connect } from './connect.ts';

/** As the flags of `moorage dev`; the defaults are the smallest cell that runs a batch job and a service. */
export interface TestCellOptions {
  readonly hosts?: number;
  readonly monitors?: number;
  readonly arbiters?: number;
  /** By kind: `['batch', 'batch', 'service']` are three that compete. */
  readonly schedulers?: readonly string[];
}

/** A cell that lives as long as the test, and no longer than its process. */
export interface TestCell extends AsyncDisposable {
  /** Its monitors, as an operator. */
  readonly client: MonitorClient;
  /** The folder that it runs from, which goes with it: `moorage` in it finds the cell. */
  readonly folder: string;
  /** Ends all of its processes, and removes the folder. @throws Error when one of them did not end well */
  stop(): Promise<void>;
}

/**
 * Starts a development cell: etcd, an arbiter, schedulers, a monitor and host-agents, each a process of its own, on free ports of
 * 127.0.0.1, with certificates. It takes some seconds, and etcd must be installed.
 *
 * @throws Error with what the cell printed, when it does not come up
 */
export async function startCell(options: TestCellOptions = {}): Promise<TestCell> {
  const { hosts = 1, monitors = 1, arbiters = 1, schedulers = ['batch', 'service'] } = options;
  const folder = mkdtempSync(join(tmpdir(), 'moorage-cell-'));
  const sizes = ['--hosts', hosts, '--monitors', monitors, '--arbiters', arbiters].map(String);
  const args = ['dev', '--no-demo', ...sizes, '--schedulers', schedulers.join(',')];
  // Its standard input stays open for as long as we live: a killed test leaves no cell behind.
  const env = { ...process.env, NO_COLOR: '1', MOORAGE_STOP_WITH_PARENT: '1' };
  const child = spawn(process.execPath, [builtFile('cli/main.cjs'), ...args], { cwd: folder, env });
  let printed = '';
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    const code = await ended;
    rmSync(folder, { recursive: true, force: true });
    if (code !== 0) throw new Error(`the cell ended with ${String(code)}: ${printed}`);
  };
  const up = new Promise<void>((resolve) => {
    const read = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (printed.includes(UP)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
  });
  const isUp = await Promise.race([up.then(() => true), ended.then(() => false)]);
  const cell = isUp ? cellsUnder(folder)[0] : undefined;
  if (cell === undefined) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`the cell did not come up: ${printed}`);
  }
  const client = await connect({ address: cell.monitors, cwd: folder });
  return { client, folder, stop, [Symbol.asyncDispose]: stop };
}

/** The last line of a cell that has come up. */
const UP = 'Ctrl-C stops it';
