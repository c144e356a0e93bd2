/**
 * A whole cell on this machine, every role a process of its own on a free port. First the keys and the store; as soon as that
 * answers, all roles side by side. The caller starts the hosts: real ones for a development cell, hollow ones for a replay.
 *
 * - `data-folder.ts` locks a folder for the cell's data.
 * - `certificates.ts` is the authority of the cell: each process gets a certificate from it before it starts.
 * - `processes.ts` starts the roles' processes, and `store-process.ts` the store's. `kept-process.ts` restarts those that end,
 *   after the delay of `restarts.ts`; `role-process.ts` is one process of a role, from its start to its end.
 * - `store-space.ts` opens the store again when it is full.
 * - `steps.ts` prints the steps of the start.
 */
import { existsSync } from 'node:fs';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { EtcdUpkeep } from '../../src/adapters/etcd/upkeep.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { secureCellStore } from '../operator/secure.ts';
import { Certificates } from './certificates.ts';
import type { DataFolder } from './data-folder.ts';
import { takeDataFolder } from './data-folder.ts';
import type { RunningProcess } from './processes.ts';
import { ANY_PORT, ProcessGroup } from './processes.ts';
import type { Steps } from './steps.ts';
import { keepStoreOpen } from './store-space.ts';
import type { StoreProcess } from './store-process.ts';
import { storeProcess } from './store-process.ts';

export interface LocalCellOptions {
  /** Where `.moorage/` is, or will be made. */
  readonly base: string;
  readonly name: string;
  /** Forgets the data of an earlier cell of this name. */
  readonly fresh: boolean;
  /** `off` keeps the store's history from its first revision, for a check at the end. */
  readonly compaction: 'as-served' | 'off';
  /** Without TLS and certificates: to measure what they cost. */
  readonly plain?: boolean;
  /** How long certificates count; default 24 h. */
  readonly certificateTtlMs?: number;
  readonly steps: Steps;
  /** Flags of Node for each role. */
  readonly nodeFlags?: readonly string[];
  /** The store or a role ended by itself, or was started again. */
  readonly onEvent: (line: string) => void;
}

/** One scheduler to start: its id, and the rest of its command line. */
export interface SchedulerStart {
  readonly id: string;
  readonly args: readonly string[];
}

/** The built command line that every role process is started with. */
const CLI_PATH = builtFile('cli/main.cjs');

export type LocalRole = 'scheduler' | 'monitor' | 'arbiter' | 'agent' | 'hollow';

export class LocalCell {
  readonly folder: DataFolder;
  /** There is nothing of an earlier start in its folder. */
  readonly isNew: boolean;
  readonly processes: ProcessGroup;
  readonly #options: LocalCellOptions;
  /** null: the cell is plain. */
  readonly #certificates: Certificates | null;
  #credentials: Credentials | undefined;
  #store: StoreProcess | null = null;
  #endUpkeep: () => Promise<void> = async () => undefined;
  #monitors: readonly RunningProcess[] = [];
  #schedulers: ReadonlySet<string> = new Set();

  constructor(options: LocalCellOptions) {
    this.#options = options;
    this.folder = takeDataFolder(options.base, options.name);
    // Before anything is written: the logs of this start are not an earlier one's.
    if (options.fresh) this.folder.wipe();
    this.isNew = !existsSync(this.folder.etcd);
    this.#certificates =
      options.plain === true
        ? null
        : new Certificates(this.folder.pki, options.onEvent, options.certificateTtlMs);
    this.processes = new ProcessGroup({
      cliPath: CLI_PATH,
      logFolder: this.folder.logs,
      nodeFlags: options.nodeFlags ?? [],
      onEvent: options.onEvent,
    });
  }

  /** The store's client address. */
  get etcd(): string {
    if (this.#store === null) throw new Error('etcd is not up');
    return this.#store.ready.clientUrl;
  }

  /** An operator's; undefined: the cell is plain. */
  get credentials(): Credentials | undefined {
    return this.#credentials;
  }

  /** Every process of the cell, the store first. */
  get members(): readonly { readonly name: string; readonly pid: number }[] {
    return [...(this.#store === null ? [] : [this.#store]), ...this.processes.members];
  }

  get monitors(): readonly string[] {
    return this.#monitors.map((monitor) => monitor.ready.address);
  }

  /** Starts one role on this cell; it is started again when it ends without an order to stop. */
  async role(kind: LocalRole, id: string, more: readonly string[]): Promise<RunningProcess> {
    const own = await this.#certificates?.issue(kind === 'hollow' ? 'agent' : kind, id);
    const shown = own === undefined ? [] : ['--credentials', own];
    const common = [
      '--cell',
      this.folder.name,
      '--etcd',
      this.etcd,
      '--id',
      id,
      '--listen',
      ANY_PORT,
      ...shown,
    ];
    return this.processes.start(id, [kind, ...common, ...more], { keepUp: true });
  }

  /** Keys and certificates, then the store. */
  async startStore(note = ''): Promise<void> {
    const { steps, compaction, onEvent } = this.#options;
    await steps.step(
      'keys',
      () => Promise.all([makeKeyFiles(this.folder.keys), this.#prepareCertificates()]),
      () => `ticket keys, pinned by file${this.#certificates === null ? '' : '; certificates, for TLS'}`,
    );
    await steps.step(
      'etcd',
      async () => {
        const found = await findEtcd({ env: process.env });
        const off = compaction === 'off' ? { autoCompaction: 'off' as const } : {};
        const credentials = await this.#certificates?.open('etcd', 'etcd-1');
        const options = { binary: found.path, dataFolder: this.folder.etcd, credentials, ...off };
        const store = (this.#store = storeProcess(options, onEvent));
        await store.start();
        if (credentials !== undefined) onOtherAuthorities(credentials, () => void store.restart());
        await this.#secureStore();
        return `${this.etcd} (${found.version}, ${found.path})${note}`;
      },
      (text) => text,
    );
  }

  /** Everything that needs nothing but the store: the arbiters, the monitors, these schedulers, and what `hosts` starts. */
  async startRoles(roles: {
    readonly hosts: () => Promise<unknown>;
    readonly monitors: number;
    readonly arbiters?: number;
    readonly schedulers: readonly SchedulerStart[];
  }): Promise<void> {
    await Promise.all([
      this.#startArbiters(roles.arbiters ?? ARBITERS),
      roles.hosts(),
      this.#startMonitors(roles.monitors),
      this.#startSchedulers(roles.schedulers),
    ]);
  }

  /** Also of an earlier cell's data, made without users. */
  async #secureStore(): Promise<void> {
    if (this.#credentials === undefined) return;
    const reach = { endpoints: [this.etcd], cell: this.folder.name, credentials: this.#credentials };
    await secureCellStore(reach, Date.now());
    const upkeep = new EtcdUpkeep({ endpoints: reach.endpoints, credentials: reach.credentials });
    this.#endUpkeep = keepStoreOpen(upkeep, this.#options.onEvent);
  }

  async #prepareCertificates(): Promise<void> {
    if (this.#certificates === null) return;
    await this.#certificates.init(this.folder.name);
    this.#credentials = await this.#certificates.open('operator', 'dev');
  }

  async #startArbiters(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, index) => `arbiter-${String(index + 1)}`);
    await this.#options.steps.step(
      'arbiters',
      () => Promise.all(ids.map((id) => this.role('arbiter', id, ['--keys', this.folder.keys]))),
      idsOf,
    );
  }

  async #startMonitors(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, index) => `monitor-${String(index + 1)}`);
    const kept = this.#options.compaction === 'off' ? ['--history-kept', 'all'] : [];
    this.#monitors = await this.#options.steps.step(
      'monitors',
      () => Promise.all(ids.map((id) => this.role('monitor', id, kept))),
      idsOf,
    );
  }

  async #startSchedulers(schedulers: readonly SchedulerStart[]): Promise<void> {
    this.#schedulers = new Set(schedulers.map(({ id }) => id));
    await this.#options.steps.step(
      'schedulers',
      () =>
        Promise.all(
          schedulers.map(({ id, args }) => this.role('scheduler', id, [...args, ...WITHOUT_WARM_UP])),
        ),
      idsOf,
    );
  }

  /** Writes `cell.json`: from now on other commands find this cell. */
  announce(): void {
    this.folder.announce({
      cell: this.folder.name,
      pid: process.pid,
      etcd: [this.etcd],
      monitors: this.monitors,
      ...(this.#credentials === undefined ? {} : { credentials: this.#credentials.folder }),
      startedAtMs: Date.now(),
    });
  }

  /**
   * Stops the schedulers, which would look for other places for what the hosts stop, then all other roles, then the store.
   * Also after a start that failed half way.
   */
  async stop(options: { readonly erase: boolean }): Promise<void> {
    await this.processes.stopAll(({ name }) => this.#schedulers.has(name));
    await this.#endUpkeep();
    await this.#store?.stop();
    this.#certificates?.close();
    this.folder.release(options.erase);
  }
}

/** Etcd reads whom it trusts at its start only. */
function onOtherAuthorities(credentials: Credentials, act: () => void): void {
  let known = credentials.now.authorities;
  credentials.onChange(({ authorities }) => {
    if (authorities === known) return;
    known = authorities;
    act();
  });
}

/** The text of a step that started roles. */
export function idsOf(roles: readonly RunningProcess[]): string {
  return roles.map((role) => role.name).join(', ');
}

/** Two, so that namespaces with a quota go on when one of them ends. */
const ARBITERS = 2;

/** The schedulers share a few processors with all other roles, and a local cell has no large bursts. */
const WITHOUT_WARM_UP = ['--rehearse', 'never'];
