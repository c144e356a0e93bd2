import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findEtcd } from '../../src/adapters/etcd/find-etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/etcd-process.ts';
import { startEtcd } from '../../src/adapters/etcd/etcd-process.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { DataFolder } from './data-folder.ts';
import { takeDataFolder, writeCellFile } from './data-folder.ts';
import type { RunningProcess } from './processes.ts';
import { ANY_PORT, ProcessGroup } from './processes.ts';
import type { Steps } from './steps.ts';

export interface DevCellOptions {
  /** Where `.moorage/` is, or will be made. */
  readonly base: string;
  readonly name: string;
  readonly hosts: number;
  readonly monitors: number;
  readonly steps: Steps;
  /** A role ended by itself, or was started again. */
  readonly onEvent: (line: string) => void;
}

/** What the schedulers of a development cell are: two of one kind, so that there is somebody to compete with. */
const SCHEDULERS = [
  { id: 'service-1', kind: 'service' },
  { id: 'batch-1', kind: 'batch' },
  { id: 'batch-2', kind: 'batch' },
  { id: 'system-1', kind: 'system' },
] as const;

/** Each host offers a fixed small machine, whatever this one has, so that the demonstration is the same everywhere. */
const HOST_SIZE = ['--cpu', '4', '--memory', '4Gi', '--disk', '10Gi'];
/** Port ranges of the hosts do not meet, as all of them are the same machine. */
const HOST_PORTS_FIRST = 20_000;
const HOST_PORTS_EACH = 500;

/** The built command line that every role process is started with. */
const CLI_PATH = fileURLToPath(new URL('../main.js', import.meta.url));

/** A whole cell on this machine: every role a process of its own, on free ports, with its data in one folder. */
export class DevCell {
  readonly folder: DataFolder;
  readonly processes: ProcessGroup;
  readonly #options: DevCellOptions;
  #etcd: EtcdProcess | null = null;
  #monitors: RunningProcess[] = [];

  constructor(options: DevCellOptions) {
    this.#options = options;
    this.folder = takeDataFolder(options.base, options.name);
    this.processes = new ProcessGroup({
      cliPath: CLI_PATH,
      logFolder: this.folder.logs,
      onEvent: options.onEvent,
    });
  }

  /** The store's client address. */
  get etcd(): string {
    if (this.#etcd === null) throw new Error('etcd is not up');
    return this.#etcd.clientUrl;
  }

  get monitors(): readonly string[] {
    return this.#monitors.map((monitor) => monitor.ready.address);
  }

  /** Brings everything up; on a failure what was started is stopped again. */
  async start(): Promise<void> {
    const { steps } = this.#options;
    const old = existsSync(this.folder.etcd);
    await steps.step(
      'etcd',
      () => this.#startEtcd(),
      (text) => text + (old ? ', on the data of the last start' : ''),
    );
    await steps.step(
      'keys',
      () => makeKeyFiles(this.folder.keys),
      () => 'ticket keys, pinned by file',
    );
    await steps.step('arbiter', () => this.#startArbiter(), addressOf);
    await steps.step('hosts', () => this.#startHosts(), idsOf);
    await steps.step('monitors', () => this.#startMonitors(), idsOf);
    await steps.step('schedulers', () => this.#startSchedulers(), idsOf);
    writeCellFile(this.folder, {
      cell: this.folder.name,
      pid: process.pid,
      etcd: [this.etcd],
      monitors: this.monitors,
      startedAtMs: Date.now(),
    });
  }

  /** Stops the roles, the last started first, then etcd. Also after a start that failed half way. */
  async stop(options: { readonly erase: boolean }): Promise<void> {
    await this.processes.stopAll();
    await this.#etcd?.stop();
    this.folder.release(options.erase);
  }

  async #startEtcd(): Promise<string> {
    const found = await findEtcd({ env: process.env });
    this.#etcd = await startEtcd({ binary: found.path, dataFolder: this.folder.etcd });
    return `${this.#etcd.clientUrl} (${found.version}, ${found.path})`;
  }

  #role(kind: string, id: string, more: readonly string[]): Promise<RunningProcess> {
    const common = ['--cell', this.folder.name, '--etcd', this.etcd, '--id', id, '--listen', ANY_PORT];
    return this.processes.start(id, [kind, ...common, ...more], { keepUp: true });
  }

  #startArbiter(): Promise<RunningProcess> {
    return this.#role('arbiter', 'arbiter-1', ['--keys', this.folder.keys]);
  }

  #startHosts(): Promise<RunningProcess[]> {
    return Promise.all(
      Array.from({ length: this.#options.hosts }, (_, index) => {
        const id = `host-${String(index + 1)}`;
        const first = HOST_PORTS_FIRST + index * HOST_PORTS_EACH;
        const ports = `${String(first)}-${String(first + HOST_PORTS_EACH - 1)}`;
        const own = ['--data', this.folder.host(id), '--keys', this.folder.keys, '--ports', ports];
        return this.#role('agent', id, [...HOST_SIZE, ...own, '--stop-tasks-on-exit']);
      }),
    );
  }

  async #startMonitors(): Promise<RunningProcess[]> {
    const ids = Array.from({ length: this.#options.monitors }, (_, index) => `monitor-${String(index + 1)}`);
    this.#monitors = await Promise.all(ids.map((id) => this.#role('monitor', id, [])));
    return this.#monitors;
  }

  #startSchedulers(): Promise<RunningProcess[]> {
    return Promise.all(SCHEDULERS.map(({ id, kind }) => this.#role('scheduler', id, ['--kind', kind])));
  }
}

function addressOf(role: RunningProcess): string {
  return role.ready.address;
}

function idsOf(roles: readonly RunningProcess[]): string {
  return roles.map((role) => role.name).join(', ');
}
