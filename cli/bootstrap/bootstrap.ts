/**
 * Makes a cell of bare machines, on each of which `moorage agent --bare` waits. The processes of the cell itself are jobs on its
 * hosts, and started without any of the services that they are:
 *
 * 1. `bare-hosts.ts` finds the machines by their tokens. `layout.ts` decides which process runs where, `system-job.ts` what it is
 *    as a job. All of that is the plan (`plan.ts`), which is written to the folder (`bootstrap-folder.ts`) before anything is
 *    done, so that a repeated run goes on with the same.
 * 2. Each machine gets certificates for the keys that it has made, and is an agent of the cell from then on.
 * 3. `host-orders.ts` starts the members of the store, as a scheduler would, with tickets that are signed here.
 * 4. When the store answers, `cell-records.ts` records every process as a job with its placement, and the others are started.
 *
 * What runs is left as it is; a host that does not answer is told, and left to the next run.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText } from '../../src/core/errors/errors.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { AUTHORITY_TTL_MS, LEAF_TTL_MS } from '../../src/adapters/pki/authority-folder.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import type { BareToken } from '../../src/core/access/invitation.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { makeId, ID_RULE, isId } from '../../src/core/cell/ids.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { BootstrapHost, BootstrapState, SystemTask } from '../../src/wire/join/bootstrap-file.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';
import { secureCellStore } from '../operator/secure.ts';
import type { HostsFlags } from './bare-hosts.ts';
import { adoptHost, BareHost, namedHosts } from './bare-hosts.ts';
import { BootstrapFolder } from './bootstrap-folder.ts';
import { record } from './cell-records.ts';
import { allocationOf, BOOTSTRAP, HostOrders, TaskFailed } from './host-orders.ts';
import { makePlan, showPlan } from './plan.ts';
import { etcdUrls, monitorUrls, systemJob } from './system-job.ts';

export interface BootstrapFlags extends HostsFlags {
  readonly cell: string;
  readonly dryRun?: boolean;
  readonly sign?: boolean;
}

const AGAIN = 'give the same command again when the hosts are back';
const LOOK_MS = 300;
/** Of an agent, an adoption, the store, a role: each of them. */
const UP_MAX_MS = 60_000;

/** @param path the folder that keeps the cell's authority, its keys, and what was decided */
export async function bootstrap(context: Context, path: string, flags: BootstrapFlags): Promise<number> {
  if (!isId(flags.cell)) throw usageError(`--cell ${flags.cell}: ${ID_RULE}`, 'moorage bootstrap --help');
  const waiting = readDuration(flags.wait);
  if (!waiting.ok) throw usageError(`--wait: ${waiting.text}`, '--wait 5m');
  const folder = new BootstrapFolder(path);
  const tokens = await namedHosts(context, flags, waiting.value);
  const known = folder.read();
  if (known !== null && known.cell !== flags.cell)
    throw usageError(`${path} is of the cell ${known.cell}`, `--cell ${known.cell}, or another folder`);
  if (known === null && tokens.length === 0)
    throw usageError('name the machines', 'moorage bootstrap FOLDER --hosts @FILE, with a token a line');
  if (flags.dryRun === true) return showPlan(context, known, tokens, flags.cell);
  const run = await Bootstrap.begin(context, folder, known, tokens, flags.cell);
  try {
    const code = await run.all();
    return flags.sign === true ? await run.sign() : code;
  } catch (error) {
    if (error instanceof TaskFailed)
      throw new CliError(
        EXIT.workloadFailed,
        error.message,
        'mend it, and give the same command again',
        error,
      );
    throw error;
  } finally {
    run.close();
  }
}

class Bootstrap {
  readonly #context: Context;
  readonly #folder: BootstrapFolder;
  #state: BootstrapState;
  readonly #orders: HostOrders;
  readonly #operator: Credentials;
  readonly #open: readonly Credentials[];
  readonly #tokens: ReadonlyMap<string, BareToken>;
  /** Hosts that do not answer, and why. */
  readonly #away = new Map<string, string>();

  static async begin(
    context: Context,
    folder: BootstrapFolder,
    known: BootstrapState | null,
    tokens: readonly BareToken[],
    cell: string,
  ): Promise<Bootstrap> {
    const nowMs = context.terminal.nowMs();
    await folder.authority.init(cell, { nowMs, ttlMs: AUTHORITY_TTL_MS });
    const { signingKeyFile } = await makeKeyFiles(folder.keys);
    const state = known ?? (await makePlan(context, tokens, cell));
    await folder.write(state);
    const issue = async (role: IdentityRole): Promise<Credentials> => {
      const times = { nowMs, ttlMs: LEAF_TTL_MS, hosts: [] };
      return openCredentials((await folder.authority.issue({ role, id: BOOTSTRAP }, times)).folder, null);
    };
    const [operator, scheduler, monitor] = [
      await issue('operator'),
      await issue('scheduler'),
      await issue('monitor'),
    ];
    const more = { monitor, signingKeyFile, nowMs: () => context.terminal.nowMs() };
    const orders = await HostOrders.of(state, scheduler, more);
    return new Bootstrap(context, folder, {
      state,
      orders,
      operator,
      open: [operator, scheduler, monitor],
      tokens,
    });
  }

  private constructor(
    context: Context,
    folder: BootstrapFolder,
    parts: {
      readonly state: BootstrapState;
      readonly orders: HostOrders;
      readonly operator: Credentials;
      readonly open: readonly Credentials[];
      readonly tokens: readonly BareToken[];
    },
  ) {
    this.#context = context;
    this.#folder = folder;
    this.#state = parts.state;
    this.#orders = parts.orders;
    this.#operator = parts.operator;
    this.#open = parts.open;
    this.#tokens = new Map(parts.tokens.map((token) => [token.host, token]));
  }

  close(): void {
    for (const credentials of this.#open) credentials.close();
  }

  async all(): Promise<number> {
    await Promise.all(this.#state.hosts.map((host) => this.#step(host.id, () => this.#adopt(host))));
    const members = this.#members.filter(({ recorded }) => recorded !== true);
    await Promise.all(members.map((task) => this.#step(task.host, () => this.#startMember(task))));
    const store = await this.#openStore();
    try {
      await this.#recordAll(store);
      await Promise.all(
        this.#others.map((task) => this.#step(task.host, () => this.#startRecorded(store, task))),
      );
      await this.#waitForRoles(store);
    } finally {
      await store.close();
    }
    return this.#tell();
  }

  /** Stays, and renews the cell's certificates: the key of its authority is here, and nowhere else. */
  async sign(): Promise<number> {
    const { sign } = await import('../operator/sign.ts');
    const { authority, keys } = this.#folder;
    return sign(this.#context, authority.path, { keys, etcd: etcdUrls(this.#state) });
  }

  /** Of the store. */
  get #members(): readonly SystemTask[] {
    return this.#state.tasks.filter(({ role }) => role === 'etcd');
  }

  get #others(): readonly SystemTask[] {
    return this.#state.tasks.filter(({ role }) => role !== 'etcd');
  }

  #say(text: string): void {
    this.#context.terminal.err(`${text}\n`);
  }

  /** What it throws that is no refusal leaves the host to the next run. */
  async #step(host: string, act: () => Promise<void>): Promise<void> {
    if (this.#away.has(host)) return;
    try {
      await act();
    } catch (error) {
      if (error instanceof TaskFailed || error instanceof CliError) throw error;
      this.#leave(host, errorText(error));
    }
  }

  #leave(host: string, why: string): void {
    if (this.#away.has(host)) return;
    this.#away.set(host, why);
    this.#say(`${host} does not answer (${why}): it is left to the next run`);
  }

  /** Makes the machine a host of the cell, unless it is one. */
  async #adopt(host: BootstrapHost): Promise<void> {
    if (await this.#orders.isThere(host.id)) return this.#say(`${host.id}: its agent runs`);
    const token = this.#tokens.get(host.id);
    if (token === undefined) throw new Error('its agent does not answer, and no token of it was given');
    const bare = await BareHost.at(token);
    const holders = this.#holdersOn(host.id);
    const machine = await bare.keys(holders.map(({ role, id }) => `${role}-${id}`));
    const nowMs = this.#context.terminal.nowMs();
    const [secret, pinnedKeys] = await Promise.all(
      ['arbiter.secret', 'arbiters.public'].map((name) => readFile(join(this.#folder.keys, name), 'utf8')),
    );
    const hasArbiter = holders.some(({ role }) => role === 'arbiter');
    await adoptHost(bare, machine, this.#folder.authority, {
      ...{ host: host.id, holders: [{ role: 'agent', id: host.id }, ...holders], address: addressOf(host) },
      ...{ pinnedKeys: pinnedKeys ?? '', etcd: etcdUrls(this.#state) },
      arbiterSecret: hasArbiter ? (secret ?? '').trim() : null,
      ...{ nowMs, ttlMs: LEAF_TTL_MS },
    });
    const isUp = await this.#until(() => this.#orders.isThere(host.id));
    if (!isUp) throw new Error('its agent did not come up');
    this.#say(`${host.id}: is a host of the cell`);
  }

  #holdersOn(host: string): readonly Pick<SystemTask, 'role' | 'id'>[] {
    return this.#state.tasks.filter((task) => task.host === host).map(({ role, id }) => ({ role, id }));
  }

  /** Before there is a store that could hold a record of it. */
  async #startMember(task: SystemTask): Promise<void> {
    const job = systemJob(this.#state, task);
    const found = await this.#orders.start(task, job);
    if (found === 'away') throw new Error(`${task.name} could not be started there`);
    if (found === 'runs') return;
    const again = { ...task, allocation: makeId(this.#context.terminal.nowMs(), randomBytes(16)) };
    await this.#decideAnew(again);
    if ((await this.#orders.start(again, job)) === 'away')
      throw new Error(`${task.name} could not be started there`);
  }

  /** As a scheduler does with what it has committed. What another one has placed since is that one's business. */
  async #startRecorded(store: CellStore, task: SystemTask): Promise<void> {
    const job = systemJob(this.#state, task);
    const key = cellKeys(this.#state.cell).allocation(job.namespace, job.name, task.allocation);
    if (!(await store.read([key])).entries.has(key)) return;
    if ((await this.#orders.start(task, job)) === 'away')
      throw new Error(`${task.name} could not be started there`);
  }

  /** Written down before it is done. */
  async #decideAnew(task: SystemTask): Promise<void> {
    const tasks = this.#state.tasks.map((one) => (one.name === task.name ? task : one));
    this.#state = { ...this.#state, tasks };
    await this.#folder.write(this.#state);
  }

  /** Resolves when a majority of its members answers; makes its users, and the cell itself. */
  async #openStore(): Promise<CellStore> {
    const members = this.#members;
    const there = members.filter(({ host }) => !this.#away.has(host));
    if (there.length * 2 <= members.length)
      throw new CliError(
        EXIT.unreachable,
        `${String(there.length)} of ${String(members.length)} members of the store are there, and it takes a majority`,
        AGAIN,
      );
    const urls = etcdUrls({ ...this.#state, tasks: there });
    const store = new EtcdCellStore({
      ...{ endpoints: urls, credentials: this.#operator, clock: systemClock, log: silentLog },
    });
    const reach = { endpoints: urls, cell: this.#state.cell, credentials: this.#operator };
    const isUp = await this.#until(async () => {
      for (const member of there) await this.#orders.check(member);
      await secureCellStore(reach, this.#context.terminal.nowMs(), this.#state.incarnation);
      return true;
    });
    if (isUp) {
      this.#say(`the store answers: ${there.map(({ name }) => name).join(', ')}`);
      return store;
    }
    await store.close();
    const logs = await Promise.all(
      there.map(async (one) => [`${one.name}:`, ...(await this.#orders.log(one))]),
    );
    throw new TaskFailed(
      ['the store does not answer; the logs of its members end with:', ...logs.flat()].join('\n'),
    );
  }

  /** When its host is registered: a placement is of a host that the cell knows. */
  async #recordAll(store: CellStore): Promise<void> {
    const { cell, hosts, tasks } = this.#state;
    const keys = cellKeys(cell);
    for (const host of hosts.filter(({ id }) => !this.#away.has(id))) {
      const isKnown = await this.#until(
        async () => (await store.read([keys.host(host.id)])).entries.size > 0,
        () => this.#orders.isThere(host.id),
      );
      if (!isKnown) {
        this.#leave(host.id, 'its agent does not register with the store');
        continue;
      }
      for (const task of tasks.filter((one) => one.host === host.id && one.recorded !== true)) {
        const job = systemJob(this.#state, task);
        const nowMs = this.#context.terminal.nowMs();
        const allocation = allocationOf(this.#state, task, job, nowMs);
        const isDone = await this.#until(async () => {
          await record(store, keys, { job, allocation, nowMs });
          return true;
        });
        if (!isDone) throw new CliError(EXIT.unreachable, 'the store takes no records', AGAIN);
        await this.#decideAnew({ ...task, recorded: true });
      }
    }
  }

  /** Each has registered itself with the store when it serves. */
  async #waitForRoles(store: CellStore): Promise<void> {
    const tasks = this.#others;
    const keys = cellKeys(this.#state.cell);
    for (const task of tasks) {
      const key = keys.role(task.role, task.id);
      const isUp = await this.#until(
        async () => {
          if (this.#away.has(task.host) || (await store.read([key])).entries.size > 0) return true;
          await this.#orders.check(task);
          return false;
        },
        () => this.#orders.isThere(task.host),
      );
      if (isUp) continue;
      if (!(await this.#orders.isThere(task.host))) {
        this.#leave(task.host, `${task.name} did not come up`);
        continue;
      }
      const log = await this.#orders.log(task);
      throw new TaskFailed(
        [`${task.name} does not register with the store; its log ends with:`, ...log].join('\n'),
      );
    }
    const up = tasks.filter(({ host }) => !this.#away.has(host));
    this.#say(`serve: ${up.map(({ name }) => name).join(', ')}`);
  }

  #tell(): number {
    const { terminal } = this.#context;
    terminal.out(`export MOORAGE_ADDR=${monitorUrls(this.#state).join(',')}\n`);
    terminal.out(`export MOORAGE_CREDENTIALS=${this.#operator.folder}\n`);
    this.#say(
      `next: moorage ps -n system; and for as long as the cell lives, so that its certificates are renewed (or --sign, here): ` +
        `moorage pki sign ${this.#folder.authority.path} --keys ${this.#folder.keys} --etcd ${etcdUrls(this.#state).join(',')}`,
    );
    if (this.#away.size === 0) return EXIT.ok;
    const missing = this.#state.tasks.filter(({ host }) => this.#away.has(host)).map(({ name }) => name);
    this.#say(
      `not there: ${[...this.#away.keys()].join(', ')}, and with it ${missing.join(', ')}: give the same command again`,
    );
    return EXIT.workloadFailed;
  }

  /** @returns false: not in time, or `goesOn` says that it never will */
  async #until(isSo: () => Promise<boolean>, goesOn?: () => Promise<boolean>): Promise<boolean> {
    const { terminal, interrupted } = this.#context;
    const untilMs = terminal.nowMs() + UP_MAX_MS;
    while (!interrupted.aborted) {
      try {
        if (await isSo()) return true;
      } catch (error) {
        // A store that is away now may answer the next time.
        if (!(error instanceof StoreError) || error.code === 'denied') throw error;
      }
      if (terminal.nowMs() > untilMs || (goesOn !== undefined && !(await goesOn()))) return false;
      await terminal.sleep(LOOK_MS, interrupted);
    }
    return false;
  }
}

function addressOf({ url }: BootstrapHost): string {
  return new URL(url).hostname.replaceAll(/[[\]]/g, '');
}
