/**
 * One allocation on its host, from accepted to released: the state machine below. `allocation-table.ts` holds all of them and
 * `local-ledger.ts` what they claim of the host. A run begins when the ledger says that its claim fits, starts its tasks
 * (`../tasks/`), and ends when they do, when it is stopped (`stop-reason.ts`: the first reason stands), or at a deadline
 * (`deadlines.ts`; `cell-contact.ts` knows when the host was last in contact). `outcome.ts` says how it ended, `report.ts`
 * what the host says of it, and `report-feed.ts` sends that to monitors. `spans.ts` records it in the job's trace.
 */
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { ObservedState } from '../../src/core/host/states.ts';
import { isTerminal, mayMove } from '../../src/core/host/states.ts';
import type {
  AllocationSpec,
  OutcomeRecord,
  StopReasonRecord,
} from '../../src/wire/host-files/host-files.ts';
import { outcomeFile, workFolder } from '../../src/wire/host-files/host-files.ts';
import type { LogFields } from '../../src/ports/telemetry.ts';
import { DiskError } from '../../src/ports/disk.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { attemptName } from '../../src/wire/host-files/attempt-files.ts';
import { reportOf, restartsOf, startedAtMsOf } from './report.ts';
import { endCommands } from '../tasks/attempt-commands.ts';
import type { CellContact } from './cell-contact.ts';
import type { Deadline } from './deadlines.ts';
import { deadlineOf, lingerMs, shimDeadlines, STOP_REASON_OF } from './deadlines.ts';
import type { Ending } from './outcome.ts';
import { endingOf, failureOf, mainsOf } from './outcome.ts';
import { tracePrepare, traceRun } from './spans.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import { ownedOf } from '../drivers/task-driver.ts';
import { readRecord } from '../state/records.ts';
import type { ShimDeadlines, TaskSettings } from '../tasks/tasks.ts';
import { TaskRun } from '../tasks/tasks.ts';
import { FirstStopReason } from './stop-reason.ts';

/** What an allocation asks of the host that it is on. */
export interface AllocationHost {
  readonly contact: CellContact;
  /** Are its victims gone, and does it fit beside what lies on the machine? Then it counts as in use. */
  mayBegin(run: AllocationRun): boolean;
  /** Its report is another one now. @param json of the report */
  changed(run: AllocationRun, report: AllocationReport, json: string): void;
  /** Nothing of it is left here. */
  released(run: AllocationRun): void;
}

/** After a fault of disk or system, and while a process still holds a port, it looks again this much later. */
const RETRY = { firstMs: 250, maxMs: 5_000 };

/** After a fault of the disk while files were brought; what the source lacks is not asked for again. */
const GATHER_AGAIN_MS = 1_000;

/**
 * One allocation on this host, from accepted to released.
 *
 *   accepted → preparing → starting → running → (stopping) → complete | failed | killed | lost, then released
 *
 * Level-triggered: whatever happens only wakes it; a step looks at what is there, does the next thing, and records it
 * before the next step. So a crash between two steps repeats at most one of them, and a missed event costs time only.
 */
export class AllocationRun {
  readonly spec: AllocationSpec;
  readonly tasks: readonly TaskRun[];
  readonly #ports: TaskPorts;
  readonly #host: AllocationHost;
  #state: ObservedState = 'accepted';
  readonly #stopReason: FirstStopReason;
  #isKill = false;
  #outcome: OutcomeRecord | null = null;
  #released = false;
  #unreleased: string | null = null;
  #dirty = false;
  #verify = false;
  #working: Promise<void> | null = null;
  /** The last step could not be done to its end; then how long until it is tried again. */
  #retryMs: number | null = null;
  readonly #backoff: Backoff;
  #cancelTimer: () => void = () => undefined;
  #closed = false;
  #told = '';
  /** Its span of that name is recorded, or was by an earlier agent. */
  #prepared = false;
  #gathering: 'no' | 'under-way' | 'over' = 'no';
  /** Why a task cannot have its files. */
  #lacks: string | null = null;
  /** The contact that its shims were told of last. */
  #renewedAtMs: number | null = null;

  constructor(ports: TaskPorts, host: AllocationHost, settings: TaskSettings, spec: AllocationSpec) {
    this.spec = spec;
    this.#ports = ports;
    this.#host = host;
    this.#backoff = new Backoff(RETRY, ports.random);
    this.#stopReason = new FirstStopReason(ports, this.#folder());
    const deadlines = (): ShimDeadlines =>
      shimDeadlines(spec.launch, startedAtMsOf(this.tasks), host.contact, ports.clock);
    const { allocation, addresses = [] } = spec;
    const own = ownedOf(spec);
    const onHealth = (): void => this.wake();
    const order = { allocation, policy: spec.launch.restart, addresses, deadlines, onHealth, ...own };
    this.tasks = Object.values(spec.launch.tasks).map(
      (task) => new TaskRun(ports, settings, { ...order, task }),
    );
  }

  get id(): string {
    return this.spec.allocation.id;
  }

  get allocation(): Allocation {
    return this.spec.allocation;
  }

  /** What lines of the log about it say in every role. */
  get ids(): LogFields {
    return { ...logIds(this.spec.allocation, this.spec.traceparent) };
  }

  get state(): ObservedState {
    return this.#state;
  }

  get ended(): boolean {
    return this.#outcome !== null;
  }

  get isReleased(): boolean {
    return this.#released;
  }

  get evicted(): boolean {
    return this.#stopReason.given?.why === 'evicted';
  }

  /** Takes over what an earlier agent recorded. @param attempts numbers of the attempts that have folders, by task */
  async recover(attempts: ReadonlyMap<string, readonly number[]>): Promise<void> {
    const folder = this.#folder();
    await this.#stopReason.recover();
    const outcome = await readRecord(this.#ports, `${folder}/outcome.json`, outcomeFile);
    this.#released = (await this.#ports.disk.sizeOf(`${folder}/released`)) !== null;
    const over = this.#stopReason.given !== null || outcome.kind === 'found';
    if (!this.#released) this.#ports.tools.claimFiles(this.id, this.spec.launch);
    for (const run of this.tasks) {
      const numbers = attempts.get(run.task.name);
      if (numbers !== undefined) await run.recover(numbers, { bootId: this.spec.bootId, over });
    }
    this.#prepared = this.tasks.some((run) => run.begun);
    if (outcome.kind === 'found') {
      this.#outcome = outcome.value;
      this.#state = outcome.value.state;
    } else {
      await this.#stepSafely(true);
    }
  }

  /** Looks again at what is there. @param verify also whether shims that say nothing are still alive */
  wake(verify = false): void {
    if (this.#closed || (this.#released && this.ended)) return;
    this.#dirty = true;
    this.#verify ||= verify;
    this.#working ??= this.#work();
  }

  /**
   * Records why it is to end, durably, then begins to end it. The first reason stands.
   * @throws DiskError when it is not recorded: it is carried out all the same, and recorded when the disk takes it
   */
  async stop(reason: StopReasonRecord): Promise<void> {
    if (this.ended) return;
    try {
      await this.#stopReason.give(reason);
    } finally {
      this.#move('stopping');
      this.#tell();
      this.wake();
    }
  }

  /** As `stop`, without the time that tasks have to end by themselves. @throws DiskError as `stop` does */
  kill(reason: StopReasonRecord): Promise<void> {
    this.#isKill = true;
    return this.stop(reason);
  }

  /** Forgets timers; what runs goes on. Resolves when no step is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    for (const run of this.tasks) run.close();
    await this.#working;
  }

  report(): AllocationReport {
    return reportOf({
      spec: this.spec,
      state: this.#state,
      released: this.#released,
      unreleased: this.#unreleased,
      stopReason: this.#stopReason.given,
      outcome: this.#outcome,
      tasks: this.tasks,
    });
  }

  /** Its shims hear that this host is in contact, and put off what they do when it is not. */
  async renew(): Promise<void> {
    const { stopAfterDisconnectMs } = this.spec.launch;
    const { contact } = this.#host;
    if (stopAfterDisconnectMs === undefined || this.ended || contact.atMs === this.#renewedAtMs) return;
    const { atMs } = contact;
    const leftMs = contact.leftOf(stopAfterDisconnectMs, this.#ports.clock.monotonicMs());
    // Too late for that: they have begun to stop, or are about to.
    if (leftMs === null || leftMs === 0) return;
    const heard = await Promise.all(this.tasks.map((run) => run.renew(leftMs)));
    if (heard.every(Boolean)) this.#renewedAtMs = atMs;
  }

  async #work(): Promise<void> {
    try {
      while (this.#dirty && !this.#closed) {
        this.#dirty = false;
        const verify = this.#verify;
        this.#verify = false;
        await this.#stepSafely(verify);
        this.#tell();
      }
      this.#arm();
    } finally {
      // At once, not a turn later: a wake-up in between would find work under way that looks no more.
      this.#working = null;
    }
  }

  async #stepSafely(verify: boolean): Promise<void> {
    const wasDue = this.#isDue();
    try {
      await this.#step(verify);
      this.#retryMs = this.ended && !this.#released ? this.#backoff.nextMs() : null;
      if (this.#retryMs === null) this.#backoff.reset();
    } catch (error) {
      // A fault of disk or system: tasks run on, and the step is done again.
      // A deadline that fell due meanwhile does not wait for the next try.
      this.#retryMs = !wasDue && this.#isDue() ? 0 : this.#backoff.nextMs();
      this.#ports.metrics.count('moorage_host_steps_failed_total');
      this.#ports.log.error({ ...this.ids, error }, 'a step of an allocation failed, and is done again');
    }
  }

  async #step(verify: boolean): Promise<void> {
    if (this.#outcome !== null) return this.#release();
    if (this.spec.bootId !== this.#ports.processes.bootId) return this.#afterReboot();
    if (!this.tasks.some((run) => run.begun) && this.#stopReason.given === null && !(await this.#begin()))
      return;
    if (this.#stopReason.given !== null) for (const run of this.tasks) run.startNoMore();
    try {
      for (const run of this.tasks) await run.refresh(verify);
      if (this.#stopReason.given === null) for (const run of this.tasks) if (!run.begun) await run.begin();
    } catch (error) {
      // A task that cannot be begun (again) holds up no deadline.
      if (!this.#isDue()) throw error;
    }
    await this.#judge();
    if (this.#stopReason.given !== null) {
      if (this.#lingerMs() === 0) await this.#stopTasks(this.tasks);
    } else if (mainsOf(this.tasks).every((run) => run.done)) await this.#stopTasks(this.tasks);
    else if (this.tasks.every((run) => run.started || run.done)) this.#running();
    if (this.tasks.every((run) => run.done)) await this.#finish(endingOf(this.tasks, this.#stopReason.given));
  }

  /** @returns false while it must wait for its place */
  async #begin(): Promise<boolean> {
    if (!this.#host.mayBegin(this)) return false;
    this.#move('preparing');
    await this.#ports.disk.makeFolder(workFolder(this.id));
    if (!this.#gather()) return false;
    if (!this.tasks.map((run) => run.knowsNames(() => this.wake())).every(Boolean)) return false;
    if (this.#lacks !== null) {
      await this.#end('task-failed', this.#lacks);
      return true;
    }
    this.#move('starting');
    for (const run of this.tasks) if (!run.begun) await run.begin();
    return true;
  }

  /** Brings the files of its tasks, meanwhile it does nothing. @returns true when that is over */
  #gather(): boolean {
    const { tools, log } = this.#ports;
    if (!tools.needsFiles(this.spec.launch)) return true;
    if (this.#gathering === 'no') {
      this.#gathering = 'under-way';
      const over = (lacks: string | null): void => {
        this.#gathering = 'over';
        this.#lacks = lacks;
        this.wake();
      };
      tools.gather(this.id, this.spec.launch).then(over, (error: unknown) => {
        log.error({ ...this.ids, error }, 'cannot bring the files of an allocation, and tries again');
        this.#gathering = 'no';
        this.#ports.clock.after(GATHER_AGAIN_MS, () => this.wake());
      });
    }
    return this.#gathering === 'over';
  }

  /** Does something that happened here end it? */
  async #judge(): Promise<void> {
    if (this.#stopReason.given !== null) return;
    const stoppedBy = this.tasks.find((run) => run.stoppedBy !== undefined)?.stoppedBy;
    if (stoppedBy !== undefined) return this.#end(STOP_REASON_OF[stoppedBy], STOP_REASON_OF[stoppedBy]);
    if (this.tasks.every((run) => run.done)) return;
    const failed = mainsOf(this.tasks).find((run) => run.done && !run.succeeded);
    const due = this.#due();
    if (failed !== undefined) await this.#end('task-failed', failureOf(failed));
    else if (due?.inMs === 0) await this.#end(due.why, due.why);
  }

  /** A stop reason of this host's own: no order waits for its answer, so a disk that takes nothing holds nothing up. */
  async #end(why: StopReasonRecord['why'], cause: string): Promise<void> {
    const atMs = Math.round(this.#ports.clock.nowMs());
    try {
      await this.#stopReason.give({ why, cause, commandId: '', atMs });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    } finally {
      this.#move('stopping');
    }
  }

  async #stopTasks(tasks: readonly TaskRun[]): Promise<void> {
    for (const run of tasks) if (!run.done) await run.stop(this.#isKill);
  }

  async #afterReboot(): Promise<void> {
    const over = mainsOf(this.tasks).every((run) => run.done);
    const lost: Ending = { state: 'lost', reason: 'host-reboot', exit: { lost: 'host-reboot' } };
    await this.#finish(over ? endingOf(this.tasks, this.#stopReason.given) : lost);
  }

  async #finish(ending: Ending): Promise<void> {
    const startedAtMs = startedAtMsOf(this.tasks);
    const outcome: OutcomeRecord = {
      ...ending,
      restarts: restartsOf(this.tasks),
      ...(startedAtMs === null ? {} : { startedAtMs }),
      endedAtMs: Math.round(this.#ports.clock.nowMs()),
    };
    await this.#ports.disk.publish(`${this.#folder()}/outcome.json`, outcomeFile.encode(outcome));
    this.#outcome = outcome;
    this.#move(ending.state);
    this.#tracePrepared();
    traceRun(this.#ports, this.spec, outcome);
    this.#tell();
    await this.#release();
  }

  #running(): void {
    this.#move('running');
    this.#tracePrepared();
  }

  /** Once; an allocation that was taken over running had been prepared before. */
  #tracePrepared(): void {
    if (this.#prepared) return;
    this.#prepared = true;
    tracePrepare(this.#ports, this.spec, startedAtMsOf(this.tasks));
  }

  /** A fact of its own, later than the end: processes gone, ports free. Only then may its place be given away. */
  async #release(): Promise<void> {
    if (this.#released) return;
    for (const run of this.tasks) {
      const left = run.exit?.left ?? 0;
      const name = attemptName(this.id, run.task.name, Math.max(1, run.attemptNumber));
      if (left > 0 && (await this.#ports.processes.killLeftovers(name)) > 0) return;
      if (!(await endCommands(this.#ports, name))) return;
      if (!(await this.#ports.tools.cleanup(name))) return;
    }
    const { uid, ids } = this.spec;
    if (uid !== undefined && ids !== undefined && !(await this.#ports.tools.takeBack(this.id, uid))) return;
    this.#unreleased = await this.#ports.tools.detachVolumes(this.allocation);
    if (this.#unreleased !== null) return;
    if (await this.#isListenedTo()) return;
    await this.#ports.disk.publish(`${this.#folder()}/released`, '');
    this.#released = true;
    this.#ports.tools.releaseFiles(this.id);
    this.#host.released(this);
  }

  /** Some process still has a socket on what is leased to it. */
  async #isListenedTo(): Promise<boolean> {
    const { processes, log } = this.#ports;
    const { addresses: leased = [] } = this.spec;
    const ports = await processes.portsInUse(Object.values(this.allocation.ports));
    const addresses = leased.length === 0 ? [] : await processes.addressesInUse(leased);
    if (ports.length + addresses.length === 0) return false;
    log.warn({ ...this.ids, ports, addresses }, 'ended, but what is leased to it is still in use');
    return true;
  }

  #move(to: ObservedState): void {
    if (this.#state === to) return;
    if (!mayMove(this.#state, to)) {
      // A step done again passes through what it had reached before.
      if (isTerminal(this.#state))
        throw new Error(`allocation ${this.id}: ${this.#state} may not become ${to}`);
      return;
    }
    this.#state = to;
  }

  #tell(): void {
    const report = this.report();
    const json = JSON.stringify(report);
    if (json === this.#told) return;
    this.#told = json;
    const { log } = this.#ports;
    if (log.isDebug === true) log.debug({ ...this.ids, released: this.#released }, `is ${this.#state}`);
    this.#host.changed(this, report, json);
  }

  /**
   * One timer: for the earliest of all that is due without an event. What the last step should have done and could not waits
   * with it: a restart for which the disk takes nothing stays due, and would be tried without a pause.
   */
  #arm(): void {
    this.#cancelTimer();
    if (this.#closed || this.#released) return;
    const retryMs = this.#retryMs;
    const dues = [
      ...this.tasks.map((run) => run.wakeInMs()),
      this.#due()?.inMs ?? null,
      this.#lingerMs() || null,
    ]
      .filter((inMs) => inMs !== null)
      .map((inMs) => (inMs > 0 ? inMs : (retryMs ?? 0)));
    const due = Math.min(retryMs ?? Infinity, ...dues);
    this.#cancelTimer = due === Infinity ? () => undefined : this.#ports.clock.after(due, () => this.wake());
  }

  /** How long its tasks run on after the order to end, so that whoever sends it requests hears of that first; 0: no longer. */
  #lingerMs(): number {
    const { given } = this.#stopReason;
    const { shutdownDelayMs = 0 } = this.spec.launch;
    if (given === null || shutdownDelayMs === 0 || this.ended) return 0;
    return lingerMs({ given, isKill: this.#isKill }, shutdownDelayMs, this.tasks, this.#ports.clock.nowMs());
  }

  #isDue(): boolean {
    return this.#due()?.inMs === 0;
  }

  #due(): Deadline | null {
    if (this.#stopReason.given !== null || this.ended) return null;
    return deadlineOf(this.spec.launch, startedAtMsOf(this.tasks), this.#host.contact, this.#ports.clock);
  }

  #folder(): string {
    return `allocations/${this.id}`;
  }
}
