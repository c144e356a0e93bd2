import type { Host } from '../src/core/host.ts';
import type { AllocationReport } from '../src/core/report.ts';
import { TICKET_TTL_MS } from '../src/core/ticket.ts';
import { isTerminal } from '../src/core/states.ts';
import type { Digest, TicketVerifier } from '../src/ports/crypto.ts';
import { DiskError } from '../src/ports/disk.ts';
import type { HostListing, StartRequest, StopRequest } from '../src/wire/host-api.ts';
import type { AllocationSpec } from '../src/wire/host-records.ts';
import { specFile } from '../src/wire/host-records.ts';
import { ProblemError } from '../src/wire/problem.ts';
import { attemptName, parseAttemptName } from '../src/wire/shim-files.ts';
import type { AllocationHost } from './allocation-run.ts';
import { AllocationRun } from './allocation-run.ts';
import { attemptFolder } from './attempt.ts';
import type { Permit } from './gate.ts';
import { Gate, refusal } from './gate.ts';
import { Journal } from './journal.ts';
import { LocalLedger } from './local-ledger.ts';
import type { AgentPorts } from './ports.ts';
import type { AttemptNumbers, FoundAllocation } from './recovery.ts';
import { findAll } from './recovery.ts';
import { ReportFeed } from './report-feed.ts';
import { openStateFolder, saveIncarnation } from './state-folder.ts';
import type { TaskSettings } from './task-run.ts';
import { Turns } from './turns.ts';

/** A host as far as it is known before its agent starts. */
export type HostFacts = Omit<Host, 'incarnation' | 'bootId'>;

export interface AgentSettings extends TaskSettings {
  /** With less than this left on the disk nothing new is started. */
  readonly freeBytesMin: number;
  /** Allocations with a record here: bounds memory, and the size of a full report. */
  readonly allocationsMax: number;
}

export interface AgentCrypto {
  /** null: this cell enforces no tickets. */
  readonly verifier: TicketVerifier | null;
  readonly digest: Digest;
}

/** Adopted at once: each looks at a handful of files. */
const RECOVERIES_MAX = 32;
/** How long a removal waits for the processes of an allocation whose record was lost. */
const ORPHAN_KILLS_MAX = 50;

/**
 * One host: what runs there, and who may change it. Plain object on ports; `main.ts` gives it a machine, `hollow-main.ts`
 * only time.
 */
export class HostAgent implements AllocationHost {
  readonly feed: ReportFeed;
  readonly stateId: string;
  readonly #ports: AgentPorts;
  readonly #settings: AgentSettings;
  readonly #journal: Journal;
  readonly #gate: Gate;
  readonly #ledger: LocalLedger;
  readonly #runs = new Map<string, AllocationRun>();
  /** Accepted, and waiting for others to give way. */
  readonly #waiting = new Set<AllocationRun>();
  #orphans = new Map<string, AttemptNumbers>();
  readonly #turns = new Turns();
  readonly #listeners = new Map<string, Set<() => void>>();
  #host: Host;
  readonly #release: () => Promise<void>;
  #stopEvents: () => void = () => undefined;

  private constructor(ports: AgentPorts, crypto: AgentCrypto, settings: AgentSettings, opened: Opened) {
    this.#ports = ports;
    this.#settings = settings;
    this.#journal = opened.journal;
    this.#host = opened.host;
    this.stateId = opened.stateId;
    this.#release = opened.release;
    this.feed = new ReportFeed(opened.host.id, opened.host.incarnation);
    this.#ledger = new LocalLedger(() => this.#host);
    this.#gate = new Gate({ journal: opened.journal, ...crypto, host: () => this.#host });
  }

  /**
   * Takes the state folder and everything that an earlier agent left in it.
   * @throws StateFolderError, DiskError
   */
  static async open(
    ports: AgentPorts,
    facts: HostFacts,
    crypto: AgentCrypto,
    settings: AgentSettings,
  ): Promise<HostAgent> {
    const { stateId, incarnation, release } = await openStateFolder(ports, facts.id);
    try {
      const journal = await Journal.open(ports);
      const host: Host = { ...facts, bootId: ports.processes.bootId, incarnation };
      const agent = new HostAgent(ports, crypto, settings, { stateId, journal, host, release });
      await agent.#recover();
      return agent;
    } catch (error) {
      await release();
      throw error;
    }
  }

  get host(): Host {
    return this.#host;
  }

  /** Allocations whose record could not be read, while their processes may still run. */
  get orphans(): readonly string[] {
    return [...this.#orphans.keys()];
  }

  /** Where the API is reached; known once it listens. */
  setAddress(address: string): void {
    this.#host = { ...this.#host, address };
  }

  /** The store knows a later start of this host than ours: what we say must come after it. */
  async raiseIncarnation(above: number): Promise<void> {
    const incarnation = Math.max(above + 1, Math.round(this.#ports.clock.nowMs()));
    await saveIncarnation(this.#ports, incarnation);
    this.#host = { ...this.#host, incarnation };
    this.feed.raiseIncarnation(incarnation);
  }

  // --- orders ---------------------------------------------------------------------------------------------------------

  /** @throws ProblemError with one of START_REFUSALS */
  start(request: StartRequest): Promise<AllocationReport> {
    return this.#turns.take(request.allocation.id, () => this.#start(request));
  }

  /** @throws ProblemError `no-allocation`, `epoch-old` */
  stop(id: string, request: StopRequest): Promise<AllocationReport> {
    return this.#turns.take(id, () => this.#stop(id, request));
  }

  /** Forgets a released allocation. @throws ProblemError `not-released` */
  remove(id: string): Promise<void> {
    return this.#turns.take(id, () => this.#remove(id));
  }

  // --- questions ------------------------------------------------------------------------------------------------------

  run(id: string): AllocationRun | undefined {
    return this.#runs.get(id);
  }

  /** @throws ProblemError `no-allocation` */
  report(id: string): AllocationReport {
    const run = this.#runs.get(id);
    if (run === undefined) throw noAllocation(id);
    return run.report();
  }

  listing(): HostListing {
    const { incarnation, seq } = this.feed;
    return { host: this.#host.id, incarnation, seq, allocations: this.feed.reports() };
  }

  /** Calls `listener` when the allocation's report changes. @returns ends it */
  onChange(id: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(id);
    };
  }

  // --- rounds ---------------------------------------------------------------------------------------------------------

  beat(): void {
    this.feed.beat();
  }

  /** Looks at everything afresh: what a lost hint would otherwise hide for ever. */
  rescan(): void {
    for (const run of this.#runs.values()) if (!run.isReleased) run.poke(true);
  }

  recordTime(): Promise<void> {
    return this.#journal.recordTime();
  }

  /** Stops all tasks, and resolves when all are released or the time is over. */
  async stopAll(cause: string, waitMs: number): Promise<void> {
    const live = [...this.#runs.values()].filter((run) => !run.isReleased);
    const verdict = {
      why: 'user' as const,
      cause,
      commandId: '',
      atMs: Math.round(this.#ports.clock.nowMs()),
    };
    await Promise.all(live.map((run) => run.stop(verdict)));
    await Promise.all(live.map((run) => this.#whenReleased(run, waitMs)));
  }

  /** Lets go. Tasks run on. */
  async close(): Promise<void> {
    this.#stopEvents();
    this.feed.close();
    await Promise.all([...this.#runs.values()].map((run) => run.close()));
    await this.#release().catch((error: unknown) =>
      this.#ports.log.warn({ error }, 'cannot unlock the state folder'),
    );
  }

  // --- what allocations ask of their host -----------------------------------------------------------------------------

  mayBegin(run: AllocationRun): boolean {
    const gone = (run.allocation.evicts ?? []).every((id) => !this.#ledger.holds(id));
    const may = gone && this.#ledger.begin(run.id);
    if (may) this.#waiting.delete(run);
    else this.#waiting.add(run);
    return may;
  }

  changed(run: AllocationRun): void {
    if (this.#runs.get(run.id) !== run) return;
    this.feed.changed(run.report());
    for (const listener of [...(this.#listeners.get(run.id) ?? [])]) listener();
  }

  released(run: AllocationRun): void {
    this.#ledger.release(run.id);
    this.#waiting.delete(run);
    for (const waiting of this.#waiting) waiting.poke();
  }

  // --------------------------------------------------------------------------------------------------------------------

  async #recover(): Promise<void> {
    const found = await findAll(this.#ports, this.#journal);
    this.#orphans = new Map(found.orphans);
    for (const [id] of this.#orphans)
      this.#ports.log.error({ allocation: id }, 'its record cannot be read; what runs of it is left alone');
    // First what lies on the machine, then what waits for it to give way, and only then does anything move.
    const [begun, waiting] = [true, false].map((has) =>
      found.allocations.filter((one) => one.attempts.size > 0 === has),
    ) as [FoundAllocation[], FoundAllocation[]];
    for (const { spec } of begun) this.#ledger.adopt(spec.allocation);
    for (const { spec } of waiting)
      if (this.#ledger.admit(spec.allocation, spec.allocation.evicts ?? []) !== null)
        this.#ledger.adopt(spec.allocation);
    for (let i = 0; i < found.allocations.length; i += RECOVERIES_MAX)
      await Promise.all(found.allocations.slice(i, i + RECOVERIES_MAX).map((one) => this.#adopt(one)));
    this.#stopEvents = this.#ports.processes.onEvent((attempt) => {
      const id = parseAttemptName(attempt)?.allocation;
      if (id !== undefined) this.#runs.get(id)?.poke();
    });
    // What happened between the look at an attempt and the first event.
    this.rescan();
  }

  async #adopt(found: FoundAllocation): Promise<void> {
    const { spec } = found;
    const run = new AllocationRun(this.#ports, this, this.#settings, spec);
    if (spec.jti !== undefined && this.#journal.useOf(spec.jti) === undefined)
      await this.#journal.recordStart(spec.allocation.epoch, {
        jti: spec.jti,
        digest: spec.requestDigest,
        expiresMs: spec.acceptedAtMs + TICKET_TTL_MS,
      });
    await run.recover(found.attempts);
    if (run.isReleased) this.#ledger.release(run.id);
    else if (run.evicted) this.#ledger.giveWay(run.id);
    this.#runs.set(run.id, run);
    this.feed.changed(run.report());
  }

  async #start(request: StartRequest): Promise<AllocationReport> {
    const { id } = request.allocation;
    const requestDigest = this.#gate.digestOf(request);
    const known = this.#runs.get(id);
    if (known !== undefined) {
      if (known.spec.requestDigest === requestDigest) return known.report();
      throw refusal('bad-request', 'another start was ordered under this id');
    }
    const permit = await this.#gate.check(request, requestDigest);
    await this.#checkMachine(request);
    if (this.#runs.size >= this.#settings.allocationsMax)
      throw refusal('no-fit', `this host keeps at most ${String(this.#settings.allocationsMax)} allocations`);
    const short = this.#ledger.admit(request.allocation, request.allocation.evicts ?? []);
    if (short !== null)
      throw refusal(
        'no-fit',
        `${short.dimension}: ${String(short.needed)} needed, ${String(short.available)} available`,
        { short },
      );
    return this.#accept(request, requestDigest, permit);
  }

  async #checkMachine(request: StartRequest): Promise<void> {
    const { disk, processes } = this.#ports;
    const free = await disk.freeBytes().catch(() => 0);
    if (free < this.#settings.freeBytesMin)
      throw refusal('disk-full', `${String(free)} bytes are left on the disk of this host`);
    const taken = await processes.portsInUse(Object.values(request.allocation.ports));
    if (taken.length > 0) throw refusal('port-taken', `in use on this host: port ${taken.join(', ')}`);
  }

  /** From here on the order is ours: it is answered when it is durable, and not before. */
  async #accept(
    request: StartRequest,
    requestDigest: string,
    permit: Permit | null,
  ): Promise<AllocationReport> {
    const { allocation, launch, commandId } = request;
    const spec: AllocationSpec = {
      allocation,
      launch,
      commandId,
      requestDigest,
      ...(permit === null ? {} : { jti: permit.jti }),
      bootId: this.#ports.processes.bootId,
      acceptedAtMs: this.#journal.nowMs(),
    };
    try {
      const recorded = await Promise.allSettled([
        this.#journal.recordStart(allocation.epoch, permit),
        this.#ports.disk.publish(`allocations/${allocation.id}/spec.json`, specFile.encode(spec)),
      ]);
      for (const one of recorded) if (one.status === 'rejected') throw one.reason;
    } catch (error) {
      this.#ledger.release(allocation.id);
      await this.#ports.disk.remove(`allocations/${allocation.id}`).catch(() => undefined);
      if (!(error instanceof DiskError)) throw error;
      throw refusal('disk-full', `this host cannot keep the order: ${error.code}`);
    }
    return this.#launch(spec);
  }

  async #launch(spec: AllocationSpec): Promise<AllocationReport> {
    const run = new AllocationRun(this.#ports, this, this.#settings, spec);
    const { id } = spec.allocation;
    const orphan = this.#orphans.get(id);
    this.#orphans.delete(id);
    this.#runs.set(id, run);
    this.feed.changed(run.report());
    if (orphan !== undefined && this.#ledger.begin(id)) await run.recover(orphan);
    run.poke();
    return run.report();
  }

  async #stop(id: string, request: StopRequest): Promise<AllocationReport> {
    if (this.#journal.isOld(request.epoch))
      throw new ProblemError({
        status: 409,
        code: 'epoch-old',
        detail: 'this host has seen orders of a later epoch',
      });
    const run = this.#runs.get(id);
    if (run === undefined) {
      await this.#journal.bar(id);
      await this.#clearOrphan(id);
      throw noAllocation(id);
    }
    await this.#journal.recordEpoch(request.epoch);
    const evict = request.mode === 'evict';
    if (evict) this.#ledger.giveWay(id);
    await run.stop({
      why: evict ? 'evicted' : 'user',
      cause: request.cause,
      commandId: request.commandId,
      atMs: Math.round(this.#ports.clock.nowMs()),
    });
    return run.report();
  }

  async #remove(id: string): Promise<void> {
    const run = this.#runs.get(id);
    if (run !== undefined && !(run.isReleased && isTerminal(run.state)))
      throw new ProblemError({
        status: 409,
        code: 'not-released',
        detail: `allocation ${id} is ${run.state}, and not yet released`,
        hint: 'stop it first, and wait until it is released',
      });
    // First of all, and also for an id that is not known here: a start of it that arrives late must not run it.
    await this.#journal.bar(id);
    if (run === undefined) return this.#clearOrphan(id);
    await run.close();
    this.#runs.delete(id);
    this.feed.gone(id);
    for (const task of run.tasks)
      for (
        let number = task.attemptNumber;
        number > task.attemptNumber - this.#settings.attemptsKept;
        number--
      )
        if (number > 0) await this.#ports.disk.remove(attemptFolder(attemptName(id, task.task.name, number)));
    await this.#ports.disk.remove(`allocations/${id}`);
  }

  /** Ends and removes what is left of an allocation whose record was lost. */
  async #clearOrphan(id: string): Promise<void> {
    const orphan = this.#orphans.get(id);
    if (orphan === undefined) return;
    for (const [task, numbers] of orphan)
      for (const number of numbers) {
        const name = attemptName(id, task, number);
        await this.#ports.processes.killTree(name);
        for (let i = 0; i < ORPHAN_KILLS_MAX; i++)
          if ((await this.#ports.processes.killLeftovers(name)) === 0) break;
        await this.#ports.disk.remove(attemptFolder(name));
      }
    await this.#ports.disk.remove(`allocations/${id}`);
    this.#orphans.delete(id);
  }

  #whenReleased(run: AllocationRun, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!run.isReleased) return;
        finish();
      };
      const finish = (): void => {
        stop();
        cancel();
        resolve();
      };
      const stop = this.onChange(run.id, check);
      const cancel = this.#ports.clock.after(waitMs, finish);
      check();
    });
  }
}

interface Opened {
  readonly stateId: string;
  readonly journal: Journal;
  readonly host: Host;
  readonly release: () => Promise<void>;
}

function noAllocation(id: string): ProblemError {
  return new ProblemError({
    status: 404,
    code: 'no-allocation',
    detail: `this host has no allocation ${id}`,
  });
}
