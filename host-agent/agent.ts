/**
 * A host-agent: what runs on one host, and who may change it. `main.ts` gives it a machine, `hollow-main.ts` only time; both
 * begin with `defaults.ts`. `ports.ts` is the world that it sees, `agent-context.ts` what its rooms share.
 *
 * The rooms, in the order of a task's life:
 *
 * - `api/`: routes, registration of the host in etcd, periodic tasks
 * - `orders/`: start, stop, remove, commands; all checks before a start is accepted
 * - `leases/`: ports, addresses, users and ranges of ids of the host
 * - `allocations/`: one allocation from accepted to released; what the host reports
 * - `tasks/`: the attempts of one task; restarts
 * - `drivers/`: what each kind of task needs on the machine: exec, sandbox, oci
 * - `artifacts/`: files by their hash, fetched and kept
 * - `volumes/`: data that outlives tasks: folders of the host, and what volume drivers bring
 * - `limits/`: control groups
 * - `network/`: rules of the packet filter that keep tasks from the control plane
 * - `names/`: names of what runs in the cell: followed, answered over DNS, written for tasks
 * - `shim/` and `native/`: the process that owns a running task and outlives the agent, in TypeScript and in C
 * - `io/`: attach, input, output, logs, signals of a running task
 * - `pressure/`: memory and disk of the host, and what is ended when they run short
 * - `state/`: the state folder: lock, identity, journal, damaged records
 * - `recovery/`: how an agent finds its tasks after a crash
 * - `leaks/`: what is left of tasks that are gone
 */
import type { Host, PortRange } from '../src/core/host/host.ts';
import { DISK_FAULT, LEAKING } from '../src/core/host/host.ts';
import type { AllocationReport } from '../src/core/host/report.ts';
import { isUp } from '../src/core/slots/rollout.ts';
import type { Digest, OpenSecret, TicketVerifier } from '../src/ports/crypto.ts';
import type { HostListing, StartRequest, StopRequest } from '../src/wire/api/host-api.ts';
import type { Channel } from '../src/ports/http.ts';
import type { SignalAnswer } from '../src/wire/api/attach-frames.ts';
import type { CommandStatus, ExecRequest, SignalRequest } from '../src/wire/api/exec-api.ts';
import type { HostUsage } from '../src/wire/api/usage-api.ts';
import { adoptAll } from './recovery/recovery.ts';
import type { AllocationRun } from './allocations/allocations.ts';
import { AllocationTable } from './allocations/allocation-table.ts';
import type { AttachAsk } from './io/io.ts';
import { attach } from './io/io.ts';
import { commandStatus, refuseHollow, runCommand, sendSignal, targetOf } from './orders/commands.ts';
import { CHECKS_AT_ONCE_MAX } from './defaults.ts';
import type { AgentSettings, AgentContext } from './agent-context.ts';
import { DiskWatch } from './pressure/disk-usage.ts';
import type { TaskPorts } from './drivers/drivers.ts';
import { TaskTools } from './drivers/drivers.ts';
import { Admission } from './orders/admission.ts';
import { InputHolders } from './io/input-holders.ts';
import { Journal } from './state/journal.ts';
import { LeakWatch } from './leaks/leaks.ts';
import { MemoryGuard } from './pressure/pressure.ts';
import { Leases } from './leases/leases.ts';
import { Semaphore } from '../src/runtime/wait/semaphore.ts';
import type { UserRange } from './leases/task-users.ts';
import { IDS_EACH, ownIds, ownRange } from './leases/task-users.ts';
import { Orphans } from './recovery/orphans.ts';
import type { AgentPorts } from './ports.ts';
import { PRESSURE, pressureAttributes, pressureOf } from './pressure/memory-pressure.ts';
import { ReportFeed } from './allocations/report-feed.ts';
import { ShimLinks } from './io/shim-links.ts';
import { Signals } from './io/signals.ts';
import { policyAttributes } from './orders/policy.ts';
import { startAllocation } from './orders/orders.ts';
import type { BroughtData } from './volumes/volume-driver.ts';
import { StateDisk } from './state/state-disk.ts';
import type { NetworkRules } from './network/network.ts';
import { networkAttribute, networkRules } from './network/network.ts';
import { openStateFolder, saveIncarnation } from './state/state.ts';
import { noAllocation, removeAllocation, stopAllocation } from './orders/stop-orders.ts';
import { hostUsage } from './pressure/usage.ts';
import { KeyedMutex } from '../src/runtime/wait/keyed-mutex.ts';

/** A host as far as it is known before its agent starts. */
export type HostFacts = Omit<Host, 'incarnation' | 'bootId'>;

export interface AgentCrypto {
  /** null: this cell enforces no tickets. */
  readonly verifier: TicketVerifier | null;
  readonly digest: Digest;
  /** Absent: this host has not got the key of the hosts. */
  readonly openSecret?: OpenSecret;
}

/**
 * One host: what runs there, and who may change it. Plain object on ports; `main.ts` gives it a machine, `hollow-main.ts`
 * only time.
 */
export class HostAgent {
  readonly stateId: string;
  /** null: tasks reach what the host reaches. */
  readonly network: NetworkRules | null;
  readonly #context: AgentContext;
  readonly #leaks: LeakWatch;
  readonly #memory: MemoryGuard;
  readonly #folders: DiskWatch;
  readonly #mutex = new KeyedMutex();
  #host: Host;
  readonly #release: () => Promise<void>;
  #stopEvents: () => void = () => undefined;

  private constructor(ports: TaskPorts, crypto: AgentCrypto, settings: AgentSettings, opened: Opened) {
    const { journal, disk, stateId, release } = opened;
    this.#host = opened.host;
    this.stateId = stateId;
    this.#release = release;
    this.network = opened.network;
    const host = (): Host => this.#host;
    const feed = new ReportFeed(opened.host.id, opened.host.incarnation, ports.clock);
    const { addresses, leaseRestMs: restMs } = settings;
    const users = ports.tools.isolation.user ? opened.users : null;
    const ids = ports.tools.isolation.ids ? opened.ids : null;
    const portRange = (): PortRange => this.#host.portRange;
    const leases = new Leases(ports, { addresses, restMs, users, ids, portRange });
    const freePorts = (run: AllocationRun): void => {
      leases
        .release(run.allocation, run.spec)
        // The watch for leaks tries again.
        .catch((error: unknown) => ports.log.warn({ error }, 'a port is still leased'));
    };
    const counted = (records: number): void => ports.metrics.gauge('moorage_host_allocations', records);
    const table = new AllocationTable(feed, host, freePorts, counted);
    const admission = new Admission({ journal, ...crypto, host });
    const orphans = new Orphans(ports);
    const isClosed = (): boolean => this.#leaks.isClosed;
    this.#context = {
      ...{
        ports,
        disk,
        settings: { ...settings, stateId },
        journal,
        admission,
        table,
        orphans,
        leases,
        signals: opened.signals,
      },
      links: new ShimLinks(ports),
      holders: new InputHolders(ports.clock),
      ...{ host, isClosed },
    };
    this.#leaks = new LeakWatch(this.#context);
    this.#memory = new MemoryGuard(this.#context);
    this.#folders = new DiskWatch(this.#context);
  }

  /**
   * Takes the state folder and everything that an earlier agent left in it.
   * @throws StateFolderError, DiskError
   */
  static async open(
    machine: AgentPorts,
    facts: HostFacts,
    crypto: AgentCrypto,
    settings: AgentSettings,
  ): Promise<HostAgent> {
    const disk = new StateDisk(machine.disk);
    const plain: AgentPorts = { ...machine, disk };
    const { stateId, incarnation, release } = await openStateFolder(plain, facts.id);
    try {
      const journal = await Journal.open(plain);
      const owner = `${facts.id}.${stateId}`;
      const {
        cgroupParent = '',
        artifactBytesMax,
        ociRuntimes,
        shim = null,
        filters = false,
        gpuNodes = [],
        volumes = new Map(),
        volumeDrivers = new Map(),
      } = settings;
      const folderDigest = crypto.digest(stateId);
      const { taskUids: users = ownRange(folderDigest), taskIds: ids = ownIds(folderDigest) } = settings;
      const firsts = { uid: users.first, ids: { first: ids.first, count: IDS_EACH } };
      const own = {
        shim,
        ...firsts,
        filters,
        gpuNodes,
        volumes,
        volumeDrivers,
        host: facts.id,
        ...(ociRuntimes && { ociRuntimes }),
      };
      const { openSecret = null } = crypto;
      const options = { owner, cgroupParent, artifactBytesMax, openSecret, ...own };
      const tools = await TaskTools.open(plain, options);
      const signals = new Signals(plain);
      const ports: TaskPorts = {
        ...{ ...plain, tools, signals },
        checkSemaphore: new Semaphore(CHECKS_AT_ONCE_MAX),
      };
      const network = await networkRules(plain, {
        ...{ stateId, users: [users, ids], isolation: tools.isolation },
      });
      const pressed = pressureAttributes(await pressureOf(plain.cgroups));
      const allowed = policyAttributes(settings.allow, tools.isolation);
      const attributes = { ...tools.attributes, ...pressed, ...facts.attributes, ...allowed };
      if (plain.cgroups !== undefined) Object.assign(attributes, networkAttribute(network));
      const host: Host = { ...facts, attributes, bootId: ports.processes.bootId, incarnation };
      const agent = new HostAgent(ports, crypto, settings, {
        ...{ stateId, disk, journal, host, release, users, ids, network, signals },
      });
      await disk.look();
      await agent.#context.leases.open();
      agent.#stopEvents = await adoptAll(agent.#context);
      // What happened between the look at an attempt and the first event.
      agent.rescan();
      return agent;
    } catch (error) {
      await release();
      throw error;
    }
  }

  get host(): Host {
    return this.#host;
  }

  /** The wall clock, which is never set back. */
  get nowMs(): number {
    return this.#context.journal.nowMs();
  }

  get feed(): ReportFeed {
    return this.#context.table.feed;
  }

  /** Allocations whose record could not be read, while their processes may still run. */
  get orphans(): readonly string[] {
    return this.#context.orphans.ids;
  }

  /** Where the API is reached; known once it listens. */
  setAddress(address: string): void {
    this.#host = { ...this.#host, address };
  }

  /** The store knows a later start of this host than ours: what we say must come after it. */
  async raiseIncarnation(above: number): Promise<void> {
    const { ports } = this.#context;
    const incarnation = Math.max(above + 1, Math.round(ports.clock.nowMs()));
    await saveIncarnation(ports, incarnation);
    this.#host = { ...this.#host, incarnation };
    this.feed.raiseIncarnation(incarnation);
  }

  // --- orders ---------------------------------------------------------------------------------------------------------

  /** @param traceparent of the order's trace. @throws ProblemError with one of START_REFUSALS */
  start(request: StartRequest, traceparent?: string): Promise<AllocationReport> {
    return this.#mutex.runExclusive(request.allocation.id, () =>
      startAllocation(this.#context, request, traceparent),
    );
  }

  /** @throws ProblemError `no-allocation`, `epoch-old`, `disk-full` */
  stop(id: string, request: StopRequest): Promise<AllocationReport> {
    return this.#mutex.runExclusive(id, () => stopAllocation(this.#context, id, request));
  }

  /** Forgets a released allocation. @throws ProblemError `not-released`, `disk-full` */
  remove(id: string): Promise<void> {
    return this.#mutex.runExclusive(id, () => removeAllocation(this.#context, id));
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `not-running`, `disk-full` */
  exec(id: string, request: ExecRequest): Promise<CommandStatus> {
    return this.#mutex.runExclusive(`${id}/${request.commandId}`, () =>
      runCommand(this.#context, id, request),
    );
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `no-command`, `not-running`, `disk-full` */
  signal(id: string, request: SignalRequest): Promise<SignalAnswer> {
    return sendSignal(this.#context, id, request);
  }

  /**
   * Finds what a client wants to be attached to. @returns takes the client's channel
   * @throws ProblemError `no-allocation`, `no-task`, `no-command`, `not-running`, `hollow`
   */
  async attach(
    id: string,
    asked: { readonly task?: string; readonly command?: string },
    ask: AttachAsk,
  ): Promise<(channel: Channel, caller: AbortSignal) => Promise<void>> {
    refuseHollow(this.#context);
    const name = await targetOf(this.#context, id, asked);
    return (channel, caller) => attach(this.#context, name, ask, channel, caller);
  }

  // --- questions ------------------------------------------------------------------------------------------------------

  run(id: string): AllocationRun | undefined {
    return this.#context.table.get(id);
  }

  /** @throws ProblemError `no-allocation` */
  report(id: string): AllocationReport {
    const run = this.run(id);
    if (run === undefined) throw noAllocation(id);
    return run.report();
  }

  /** Does the allocation run here, and pass its health checks? */
  serves(id: string): boolean {
    const report = this.run(id)?.report();
    return report !== undefined && !report.released && isUp(report);
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `no-command` */
  command(id: string, commandId: string, task?: string): Promise<CommandStatus> {
    return commandStatus(this.#context, id, commandId, task);
  }

  usage(): Promise<HostUsage> {
    return hostUsage(this.#context);
  }

  listing(): HostListing {
    const { incarnation, seq } = this.feed;
    return { host: this.#host.id, incarnation, seq, allocations: this.feed.reports() };
  }

  /** The allocation here that has the data of a volume; null: none. */
  holderOf(namespace: string, claim: string, data: string): string | null {
    const has = ({ allocation, isReleased }: AllocationRun): boolean =>
      !isReleased &&
      allocation.namespace === namespace &&
      allocation.volumes?.some((use) => use.claim === claim && use.id === data) === true;
    return this.#context.table.all().find(has)?.id ?? null;
  }

  /** Deletes the data of a volume. @returns false: there was none */
  deleteVolume(namespace: string, claim: string, data: string): Promise<boolean> {
    return this.#context.ports.tools.deleteVolume(namespace, claim, data);
  }

  /** The same by its driver. @returns why it is not deleted, for people; null: it is gone */
  async deleteBrought(driver: string, data: BroughtData): Promise<string | null> {
    const { attachments } = this.#context.ports.tools;
    return attachments === null ? 'this host keeps no volumes' : attachments.delete(driver, data);
  }

  /** Calls `listener` when the allocation's report changes. @returns ends it */
  onChange(id: string, listener: () => void): () => void {
    return this.#context.table.onChange(id, listener);
  }

  // --- rounds ---------------------------------------------------------------------------------------------------------

  beat(): void {
    this.feed.beat(this.#context.ports.clock.nowMs());
  }

  /**
   * The cell was in contact at this time, by the monotonic clock: what is to stop without it goes on. Never throws: what
   * could not be told is told again.
   */
  async noteContact(atMs: number): Promise<void> {
    const { table, ports } = this.#context;
    table.contact.note(atMs);
    for (const run of table.all())
      await run
        .renew()
        .catch((error: unknown) => ports.log.warn({ error }, 'a shim cannot be told of contact'));
  }

  /** Looks at everything afresh: what a lost hint would otherwise hide for ever. */
  rescan(): void {
    for (const run of this.#context.table.all()) if (!run.isReleased) run.wake(true);
  }

  recordTime(): Promise<void> {
    return this.#context.journal.recordTime();
  }

  /** Is the disk well again, and the reserve on it? */
  lookAtDisk(): Promise<void> {
    return this.#context.disk.look();
  }

  /**
   * Looks for what was left behind, and takes away what it saw before; how the machine has memory, and whether its disk takes writes.
   * @returns whether what this host says of itself is another thing now: it is to be registered anew
   */
  async lookForLeaks(): Promise<boolean> {
    await this.#leaks.look();
    const { stuck } = this.#leaks;
    const {
      [LEAKING]: leaking,
      [PRESSURE]: pressed,
      [DISK_FAULT]: faulty,
      ...attributes
    } = this.#host.attributes;
    const pressure = pressureAttributes(await pressureOf(this.#context.ports.cgroups));
    const shortage = await this.#context.disk.shortage(this.#context.settings.freeBytesMin);
    const now: Readonly<Record<string, string>> = {
      ...(stuck === 0 ? {} : { [LEAKING]: String(stuck) }),
      ...pressure,
      ...(shortage === null ? {} : { [DISK_FAULT]: shortage.code }),
    };
    if (now[LEAKING] === leaking && now[PRESSURE] === pressed && now[DISK_FAULT] === faulty) return false;
    this.#host = { ...this.#host, attributes: { ...attributes, ...now } };
    return true;
  }

  /** Ends tasks before memory runs out. @returns how long until it is to be looked at again */
  guardMemory(): Promise<number> {
    return this.#memory.look();
  }

  /** Ends allocations that have more on disk than they asked for. @returns as `guardMemory` */
  watchFolders(): Promise<number> {
    return this.#folders.look();
  }

  /** Stops all tasks, and resolves when all are released or the time is over. */
  async stopAll(cause: string, waitMs: number): Promise<void> {
    const { table, ports } = this.#context;
    const live = table.all().filter((run) => !run.isReleased);
    const atMs = Math.round(ports.clock.nowMs());
    const reason = { why: 'user' as const, cause, commandId: '', atMs };
    // One whose word could not be kept stops all the same.
    await Promise.allSettled(live.map((run) => run.stop(reason)));
    await Promise.all(live.map((run) => table.whenReleased(run, ports.clock, waitMs)));
  }

  /** Lets go. Tasks run on. */
  async close(): Promise<void> {
    const { table, ports } = this.#context;
    this.#stopEvents();
    this.feed.close();
    ports.tools.close();
    await Promise.all(table.all().map((run) => run.close()));
    await this.network?.close(table.all().some((run) => !run.isReleased) || this.orphans.length > 0);
    await this.#release().catch((error: unknown) =>
      ports.log.warn({ error }, 'cannot unlock the state folder'),
    );
  }
}

interface Opened {
  readonly stateId: string;
  readonly disk: StateDisk;
  readonly signals: Signals;
  readonly journal: Journal;
  readonly host: Host;
  readonly users: UserRange;
  readonly ids: UserRange;
  readonly network: NetworkRules | null;
  readonly release: () => Promise<void>;
}
