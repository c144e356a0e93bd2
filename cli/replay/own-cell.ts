import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EtcdProcess } from '../../src/adapters/etcd/etcd-process.ts';
import { startEtcd } from '../../src/adapters/etcd/etcd-process.ts';
import { findEtcd } from '../../src/adapters/etcd/find-etcd.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { DataFolder } from '../dev/data-folder.ts';
import { takeDataFolder, writeCellFile } from '../dev/data-folder.ts';
import { ANY_PORT, ProcessGroup } from '../dev/processes.ts';
import type { Steps } from '../dev/steps.ts';
import type { TraceHost } from './openb.ts';

export interface OwnCellOptions {
  readonly base: string;
  readonly hosts: readonly TraceHost[];
  readonly schedulers: number;
  readonly conflictCheck: string | undefined;
  readonly steps: Steps;
  readonly onEvent: (line: string) => void;
}

const MONITORS = 2;
const CLI_PATH = fileURLToPath(new URL('../main.js', import.meta.url));

/** A cell of its own for one replay: etcd, hollow hosts, competing batch schedulers, monitors, an arbiter. */
export class OwnCell {
  readonly folder: DataFolder;
  readonly #options: OwnCellOptions;
  readonly #processes: ProcessGroup;
  #etcd: EtcdProcess | null = null;
  #monitors: string[] = [];

  constructor(options: OwnCellOptions) {
    this.#options = options;
    this.folder = takeDataFolder(options.base, 'replay');
    for (const path of [this.folder.etcd, this.folder.keys, join(this.folder.path, 'hosts')])
      rmSync(path, { recursive: true, force: true });
    this.#processes = new ProcessGroup({
      cliPath: CLI_PATH,
      logFolder: this.folder.logs,
      onEvent: options.onEvent,
    });
  }

  get etcd(): string {
    return this.#etcd?.clientUrl ?? '';
  }

  get monitors(): readonly string[] {
    return this.#monitors;
  }

  async start(): Promise<void> {
    const { steps, hosts, schedulers, conflictCheck } = this.#options;
    await steps.step(
      'etcd',
      () => this.#startEtcd(),
      (text) => text,
    );
    await makeKeyFiles(this.folder.keys);
    await steps.step(
      'arbiter',
      () => this.#role('arbiter', 'arbiter-1', ['--keys', this.folder.keys]),
      (role) => role.ready.address,
    );
    await steps.step(
      'hosts',
      () => this.#startHosts(),
      () => `${String(hosts.length)} hollow hosts in one process`,
    );
    const monitors = Array.from({ length: MONITORS }, (_, index) => `monitor-${String(index + 1)}`);
    const roles = await steps.step(
      'monitors',
      () => Promise.all(monitors.map((id) => this.#role('monitor', id, []))),
      (all) => all.map((role) => role.ready.address).join('  '),
    );
    this.#monitors = roles.map((role) => role.ready.address);
    const ids = Array.from({ length: schedulers }, (_, index) => `batch-${String(index + 1)}`);
    const more = conflictCheck === undefined ? [] : ['--conflict-check', conflictCheck];
    await steps.step(
      'schedulers',
      () => Promise.all(ids.map((id) => this.#role('scheduler', id, ['--kind', 'batch', ...more]))),
      () => ids.join(', '),
    );
    writeCellFile(this.folder, {
      cell: this.folder.name,
      pid: process.pid,
      etcd: [this.etcd],
      monitors: this.#monitors,
      startedAtMs: Date.now(),
    });
  }

  async stop(options: { readonly erase: boolean }): Promise<void> {
    await this.#processes.stopAll();
    await this.#etcd?.stop();
    this.folder.release(options.erase);
  }

  async #startEtcd(): Promise<string> {
    const found = await findEtcd({ env: process.env });
    // The check at the end wants the history from its first revision.
    this.#etcd = await startEtcd({ binary: found.path, dataFolder: this.folder.etcd, autoCompaction: 'off' });
    return `${this.#etcd.clientUrl} (${found.version})`;
  }

  #startHosts() {
    const file = join(this.folder.path, 'hosts.json');
    mkdirSync(this.folder.path, { recursive: true });
    writeFileSync(file, JSON.stringify(this.#options.hosts));
    return this.#role('hollow', 'hollow-1', ['--hosts', file, '--keys', this.folder.keys]);
  }

  #role(kind: string, id: string, more: readonly string[]) {
    const common = ['--cell', this.folder.name, '--etcd', this.etcd, '--id', id, '--listen', ANY_PORT];
    return this.#processes.start(id, [kind, ...common, ...more], { keepUp: true });
  }
}
