import type { Host } from '../src/core/host/host.ts';
import { LEAKING } from '../src/core/host/host.ts';
import type { AllocationReport } from '../src/core/host/report.ts';
import type { Digest, TicketVerifier } from '../src/ports/crypto.ts';
import type { HostListing, StartRequest, StopRequest } from '../src/wire/api/host-api.ts';
import type { Channel } from '../src/ports/http.ts';
import type { SignalAnswer } from '../src/wire/api/attach-frames.ts';
import type { CommandStatus, ExecRequest, SignalRequest } from '../src/wire/api/exec-api.ts';
import type { HostUsage } from '../src/wire/api/usage-api.ts';
import { adoptAll } from './adoption.ts';
import type { AllocationRun } from './allocation-run.ts';
import { AllocationTable } from './allocation-table.ts';
import type { AttachAsk } from './attach.ts';
import { attach } from './attach.ts';
import { commandStatus, refuseHollow, runCommand, sendSignal, targetOf } from './commands.ts';
import type { AgentSettings, Desk } from './desk.ts';
import { DiskWatch } from './disk-watch.ts';
import type { TaskPorts } from './drivers/task-tools.ts';
import { TaskTools } from './drivers/task-tools.ts';
import { Gate } from './gate.ts';
import { InputHolders } from './input-holders.ts';
import { Journal } from './journal.ts';
import { LeakWatch } from './leaks.ts';
import { MemoryGuard } from './memory-guard.ts';
import { Lent } from './lent.ts';
import { Orphans } from './orphans.ts';
import type { AgentPorts } from './ports.ts';
import { PRESSURE, pressureAttributes, pressureOf } from './pressure.ts';
import { ReportFeed } from './report-feed.ts';
import { ShimLinks } from './shim-links.ts';
import { Signals } from './signals.ts';
import { startAllocation } from './start-orders.ts';
import { StateDisk } from './state-disk.ts';
import { openStateFolder, saveIncarnation } from './state-folder.ts';
import { noAllocation, removeAllocation, stopAllocation } from './stop-orders.ts';
import { hostUsage } from './usage.ts';
import { Turns } from './turns.ts';

/** A host as far as it is known before its agent starts. */
export type HostFacts = Omit<Host, 'incarnation' | 'bootId'>;

export interface AgentCrypto {
  /** null: this cell enforces no tickets. */
  readonly verifier: TicketVerifier | null;
  readonly digest: Digest;
}

/**
 * One host: what runs there, and who may change it. Plain object on ports; `main.ts` gives it a machine, `hollow-main.ts`
 * only time.
 */
export class HostAgent {
  readonly stateId: string;
  readonly #desk: Desk;
  readonly #leaks: LeakWatch;
  readonly #memory: MemoryGuard;
  readonly #folders: DiskWatch;
  readonly #turns = new Turns();
  #host: Host;
  readonly #release: () => Promise<void>;
  #stopEvents: () => void = () => undefined;

  private constructor(ports: TaskPorts, crypto: AgentCrypto, settings: AgentSettings, opened: Opened) {
    const { journal, disk, stateId, release } = opened;
    this.#host = opened.host;
    this.stateId = stateId;
    this.#release = release;
    const host = (): Host => this.#host;
    const feed = new ReportFeed(opened.host.id, opened.host.incarnation);
    const { addresses, leaseRestMs: restMs } = settings;
    const lent = new Lent(ports, { addresses, restMs, portRange: () => this.#host.portRange });
    const freePorts = (run: AllocationRun): void => {
      lent
        .giveBack(run.allocation, run.spec.addresses ?? [])
        // The watch for leaks tries again.
        .catch((error: unknown) => ports.log.warn({ error }, 'a port is still leased'));
    };
    const counted = (records: number): void => ports.metrics.gauge('moorage_host_allocations', records);
    const table = new AllocationTable(feed, host, freePorts, counted);
    const gate = new Gate({ journal, ...crypto, host });
    const orphans = new Orphans(ports);
    const signals = new Signals(ports);
    const isClosed = (): boolean => this.#leaks.isClosed;
    this.#desk = {
      ...{ ports, disk, settings: { ...settings, stateId }, journal, gate, table, orphans, lent, signals },
      links: new ShimLinks(ports),
      holders: new InputHolders(ports.clock),
      ...{ host, isClosed },
    };
    this.#leaks = new LeakWatch(this.#desk);
    this.#memory = new MemoryGuard(this.#desk);
    this.#folders = new DiskWatch(this.#desk);
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
      const { cgroupParent = '', artifactBytesMax, ociRuntimes } = settings;
      const options = { owner, cgroupParent, artifactBytesMax, ...(ociRuntimes && { ociRuntimes }) };
      const tools = await TaskTools.open(plain, options);
      const ports: TaskPorts = { ...plain, tools };
      const pressed = pressureAttributes(await pressureOf(plain.cgroups));
      const attributes = { ...tools.attributes, ...pressed, ...facts.attributes };
      const host: Host = { ...facts, attributes, bootId: ports.processes.bootId, incarnation };
      const agent = new HostAgent(ports, crypto, settings, { stateId, disk, journal, host, release });
      await disk.look();
      await agent.#desk.lent.open();
      agent.#stopEvents = await adoptAll(agent.#desk);
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

  get feed(): ReportFeed {
    return this.#desk.table.feed;
  }

  /** Allocations whose record could not be read, while their processes may still run. */
  get orphans(): readonly string[] {
    return this.#desk.orphans.ids;
  }

  /** Where the API is reached; known once it listens. */
  setAddress(address: string): void {
    this.#host = { ...this.#host, address };
  }

  /** The store knows a later start of this host than ours: what we say must come after it. */
  async raiseIncarnation(above: number): Promise<void> {
    const { ports } = this.#desk;
    const incarnation = Math.max(above + 1, Math.round(ports.clock.nowMs()));
    await saveIncarnation(ports, incarnation);
    this.#host = { ...this.#host, incarnation };
    this.feed.raiseIncarnation(incarnation);
  }

  // --- orders ---------------------------------------------------------------------------------------------------------

  /** @throws ProblemError with one of START_REFUSALS */
  start(request: StartRequest): Promise<AllocationReport> {
    return this.#turns.take(request.allocation.id, () => startAllocation(this.#desk, request));
  }

  /** @throws ProblemError `no-allocation`, `epoch-old`, `disk-full` */
  stop(id: string, request: StopRequest): Promise<AllocationReport> {
    return this.#turns.take(id, () => stopAllocation(this.#desk, id, request));
  }

  /** Forgets a released allocation. @throws ProblemError `not-released`, `disk-full` */
  remove(id: string): Promise<void> {
    return this.#turns.take(id, () => removeAllocation(this.#desk, id));
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `not-running`, `disk-full` */
  exec(id: string, request: ExecRequest): Promise<CommandStatus> {
    return this.#turns.take(`${id}/${request.commandId}`, () => runCommand(this.#desk, id, request));
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `no-command`, `not-running`, `disk-full` */
  signal(id: string, request: SignalRequest): Promise<SignalAnswer> {
    return sendSignal(this.#desk, id, request);
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
    refuseHollow(this.#desk);
    const name = await targetOf(this.#desk, id, asked);
    return (channel, caller) => attach(this.#desk, name, ask, channel, caller);
  }

  // --- questions ------------------------------------------------------------------------------------------------------

  run(id: string): AllocationRun | undefined {
    return this.#desk.table.get(id);
  }

  /** @throws ProblemError `no-allocation` */
  report(id: string): AllocationReport {
    const run = this.run(id);
    if (run === undefined) throw noAllocation(id);
    return run.report();
  }

  /** @throws ProblemError `no-allocation`, `no-task`, `no-command` */
  command(id: string, commandId: string, task?: string): Promise<CommandStatus> {
    return commandStatus(this.#desk, id, commandId, task);
  }

  usage(): Promise<HostUsage> {
    return hostUsage(this.#desk);
  }

  listing(): HostListing {
    const { incarnation, seq } = this.feed;
    return { host: this.#host.id, incarnation, seq, allocations: this.feed.reports() };
  }

  /** Calls `listener` when the allocation's report changes. @returns ends it */
  onChange(id: string, listener: () => void): () => void {
    return this.#desk.table.onChange(id, listener);
  }

  // --- rounds ---------------------------------------------------------------------------------------------------------

  beat(): void {
    this.feed.beat();
  }

  /**
   * The cell was in contact at this time, by the monotonic clock: what is to stop without it goes on. Never throws: what
   * could not be told is told again.
   */
  async noteContact(atMs: number): Promise<void> {
    const { table, ports } = this.#desk;
    table.contact.note(atMs);
    for (const run of table.all())
      await run
        .renew()
        .catch((error: unknown) => ports.log.warn({ error }, 'a shim cannot be told of contact'));
  }

  /** Looks at everything afresh: what a lost hint would otherwise hide for ever. */
  rescan(): void {
    for (const run of this.#desk.table.all()) if (!run.isReleased) run.poke(true);
  }

  recordTime(): Promise<void> {
    return this.#desk.journal.recordTime();
  }

  /** Is the disk well again, and the reserve on it? */
  lookAtDisk(): Promise<void> {
    return this.#desk.disk.look();
  }

  /**
   * Looks for what was left behind, and takes away what it saw before; and how the machine has memory.
   * @returns whether what this host says of itself is another thing now: it is to be registered anew
   */
  async lookForLeaks(): Promise<boolean> {
    await this.#leaks.look();
    const { stuck } = this.#leaks;
    const { [LEAKING]: leaking, [PRESSURE]: pressed, ...attributes } = this.#host.attributes;
    const now: Readonly<Record<string, string>> = {
      ...(stuck === 0 ? {} : { [LEAKING]: String(stuck) }),
      ...pressureAttributes(await pressureOf(this.#desk.ports.cgroups)),
    };
    if (now[LEAKING] === leaking && now[PRESSURE] === pressed) return false;
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
    const { table, ports } = this.#desk;
    const live = table.all().filter((run) => !run.isReleased);
    const atMs = Math.round(ports.clock.nowMs());
    const verdict = { why: 'user' as const, cause, commandId: '', atMs };
    // One whose word could not be kept stops all the same.
    await Promise.allSettled(live.map((run) => run.stop(verdict)));
    await Promise.all(live.map((run) => table.whenReleased(run, ports.clock, waitMs)));
  }

  /** Lets go. Tasks run on. */
  async close(): Promise<void> {
    const { table, ports } = this.#desk;
    this.#stopEvents();
    this.feed.close();
    ports.tools.close();
    await Promise.all(table.all().map((run) => run.close()));
    await this.#release().catch((error: unknown) =>
      ports.log.warn({ error }, 'cannot unlock the state folder'),
    );
  }
}

interface Opened {
  readonly stateId: string;
  readonly disk: StateDisk;
  readonly journal: Journal;
  readonly host: Host;
  readonly release: () => Promise<void>;
}
