/**
 * One task of an allocation: its attempts, one after another. For each attempt the run below asks the task's driver to
 * prepare it, builds the shim's order (`launch.ts`), writes it and asks for a shim (`attempt.ts`), and follows the files
 * that the shim writes. While it runs, `health.ts` says whether it must end for its health, by the checks of `checks.ts`, each a
 * series of tries of `check-probe.ts`. When an attempt ends, `restarts.ts` decides whether and when the next one begins, and
 * `held-restarts.ts` whether an operator holds that back.
 * `attempt-commands.ts` ends the commands that still run in an ended attempt; `qos.ts` says which task the kernel ends first
 * when memory runs out.
 */
import type { Allocation, Exit } from '../../src/core/cell/allocation.ts';
import type { RestartPolicy, Task } from '../../src/core/cell/job.ts';
import type { TaskReport } from '../../src/core/host/report.ts';
import type { AttemptSpec, ExitRecord, ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { ATTEMPT_FILES, attemptFile, attemptName } from '../../src/wire/host-files/attempt-files.ts';
import { workFolder } from '../../src/wire/host-files/host-files.ts';
import type { AttemptState } from './attempt.ts';
import {
  attemptFolder,
  beginAttempt,
  checkShim,
  endOf,
  endUnseen,
  fence,
  readAttempt,
  refuseAttempt,
  removeAttempt,
} from './attempt.ts';
import type { Owned } from '../drivers/task-driver.ts';
import { ownedOf } from '../drivers/task-driver.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import { TaskEndpoints } from '../names/task-endpoints.ts';
import { readRecord } from '../state/records.ts';
import { forgetReadyFiles } from './check-probe.ts';
import { TaskHealth } from './health.ts';
import { decideRestart, succeeded, withinWindow } from './restarts.ts';
import type { LogBounds } from './launch.ts';
import { launchOf } from './launch.ts';

export interface TaskSettings {
  readonly logBounds: LogBounds;
  readonly hostEnv: Readonly<Record<string, string>>;
  /** Attempts whose output stays readable, the present one included. */
  readonly attemptsKept: number;
  /** Of the host's state folder: marks whose a process is. */
  readonly stateId: string;
  /** The agent's own score for when the kernel runs out of memory; tasks get no lower one. Default 0. */
  readonly oomScore?: number;
}

/** What a task of an allocation is run with. */
export interface TaskOrder extends Owned {
  readonly allocation: Allocation;
  readonly policy: RestartPolicy;
  readonly task: Task;
  /** Lent to the allocation. */
  readonly addresses: readonly string[];
  /** For the shim of an attempt that begins now. */
  readonly deadlines: () => ShimDeadlines;
  /** Called when its health checks found something new. */
  readonly onHealth: () => void;
}

export type ShimDeadlines = Pick<ShimLaunch, 'runMaxMs' | 'stopAfterDisconnectMs'>;

/** A pause that ends is told; this is for one that is not heard of. */
const HELD_LOOK_MS = 1_000;

/** Asked for a shim this long ago and no claim: the spawner may have died with the request. */
const ASK_AGAIN_MS = 5_000;

/** What is known of the allocation of a task that is taken over. */
export interface TaskPast {
  /**
   * In which boot it was accepted, and with it all its attempts: their own records are not synced, and after a loss of
   * power an empty folder is all that may be left of one that ran.
   */
  readonly bootId: string;
  /** It was told to end, or its end is recorded: what the attempts themselves say no longer makes one begin. */
  readonly over: boolean;
}

/**
 * One task of an allocation on this host: its attempts, one after another.
 *
 *   idle → (begin) → asked → claimed → running → ended ─┬→ waiting → asked → ...
 *                                                       └→ done
 *
 * Nothing here waits: whoever owns it calls `refresh` when something may have changed, and asks `wakeInMs` when to come
 * back at the latest.
 */
export class TaskRun {
  readonly task: Task;
  readonly #ports: TaskPorts;
  readonly #settings: TaskSettings;
  readonly #allocation: Allocation;
  readonly #policy: RestartPolicy;
  readonly #addresses: readonly string[];
  readonly #own: Owned;
  readonly #deadlines: () => ShimDeadlines;
  readonly #health: TaskHealth;
  readonly #endpoints: TaskEndpoints;
  #attempt: AttemptSpec | null = null;
  #observed: AttemptState | null = null;
  /** Of the attempt before this one. */
  #lastExit: ExitRecord | null = null;
  /** By this agent: what another one asked for before it died is asked for again at once. */
  #askedAtMs = -Infinity;
  #restartAtMs: number | null = null;
  /** Of the restart that is due. */
  #held: string | null = null;
  /** Of the delay that is being waited for, or was waited for last. */
  #doublings = 0;
  #done = false;
  #why = '';
  #firstStartedAtMs: number | null = null;
  #stopSince: number | null = null;
  /** It is to end, or was taken over when it had ended: nothing of it is started any more. */
  #over = false;

  constructor(ports: TaskPorts, settings: TaskSettings, order: TaskOrder) {
    this.#ports = ports;
    this.#settings = settings;
    this.#allocation = order.allocation;
    this.#policy = order.policy;
    this.#addresses = order.addresses;
    this.#own = ownedOf(order);
    this.#deadlines = order.deadlines;
    this.#health = new TaskHealth(ports, order);
    this.task = order.task;
    const { signals } = ports;
    const attempt = (): string | null =>
      this.#done || this.#attempt === null || this.#observed?.kind === 'ended' ? null : this.#name();
    this.#endpoints = new TaskEndpoints({
      ports,
      signals,
      allocation: order.allocation,
      task: order.task,
      attempt,
    });
  }

  get begun(): boolean {
    return this.#attempt !== null;
  }

  /** It has ended and is not started again. */
  get done(): boolean {
    return this.#done;
  }

  get started(): boolean {
    return this.#firstStartedAtMs !== null || this.#observed?.kind === 'running';
  }

  /** Of the last attempt; null while none has ended. */
  get exit(): ExitRecord | null {
    return this.#observed?.kind === 'ended' ? this.#observed.exit : null;
  }

  get succeeded(): boolean {
    return this.exit !== null && succeeded(this.exit);
  }

  /** Why it is not started again, for people. */
  get why(): string {
    return this.#why;
  }

  /** Why it is not started again yet though it is time, for people; null: it is not time, or it runs. */
  get held(): string | null {
    return this.#restartAtMs === null ? null : this.#held;
  }

  get restarts(): number {
    return Math.max(0, (this.#attempt?.number ?? 1) - 1);
  }

  get firstStartedAtMs(): number | null {
    return this.#firstStartedAtMs;
  }

  /** Was it us who ended it, or its shim? */
  get stopped(): boolean {
    return this.#stopSince !== null || this.stoppedBy !== undefined;
  }

  /** The deadline for which its shim stopped it. */
  get stoppedBy(): ExitRecord['stoppedBy'] {
    return this.exit?.stoppedBy;
  }

  get attemptNumber(): number {
    return this.#attempt?.number ?? 0;
  }

  report(): TaskReport {
    const exit = this.exit;
    const observed = this.#observed;
    return {
      state: this.#state(),
      ...(observed?.kind === 'running' && observed.pid !== null ? { pid: observed.pid } : {}),
      ...(exit === null ? {} : { exit: exitOf(exit) }),
      restarts: this.restarts,
      ...(observed?.kind === 'running' && observed.startedAtMs !== null
        ? { startedAtMs: observed.startedAtMs }
        : {}),
      ...this.#health.report(),
      ...(this.#lastExit === null ? {} : { lastExit: exitOf(this.#lastExit) }),
    };
  }

  /** @returns whether enough is known of the names that it uses @param wake called when that is to be asked again */
  knowsNames(wake: () => void): boolean {
    return this.#endpoints.heard(wake);
  }

  /** The first attempt. */
  async begin(): Promise<void> {
    await this.#beginAttempt(1, [], null);
  }

  /**
   * Takes over what an earlier agent began.
   * @param numbers of the attempts that have folders
   * @param past what is known of its allocation
   */
  async recover(numbers: readonly number[], past: TaskPast): Promise<void> {
    const last = Math.max(...numbers);
    const name = attemptName(this.#allocation.id, this.task.name, last);
    const path = `${attemptFolder(name)}/${ATTEMPT_FILES.spec}`;
    const found = await readRecord(this.#ports, path, attemptFile);
    // Without the record the folder still tells which attempt it is; what it said of restarts is counted from the others.
    this.#attempt =
      found.kind === 'found'
        ? found.value
        : this.#specOf(last, await this.#restartsBefore(last, numbers), null, { out: 0, err: 0 });
    if (last > 1) this.#lastExit = await this.#endOf(last - 1);
    const { bootId } = this.#ports.processes;
    const rebooted = past.bootId !== bootId || this.#attempt.bootId !== bootId;
    this.#over = past.over || rebooted;
    if (rebooted) await endUnseen(this.#ports, name, 'host-reboot');
    await this.refresh(true);
    if (!this.#done) this.#endpoints.follow();
  }

  async #endOf(number: number): Promise<ExitRecord | null> {
    const name = attemptName(this.#allocation.id, this.task.name, number);
    const exit = await endOf(this.#ports, name);
    return exit === null ? null : this.#health.explained(name, exit);
  }

  /** @param verify look also whether the shim is still there: for when no event proves nothing */
  async refresh(verify: boolean): Promise<void> {
    if (this.#done || this.#attempt === null) return;
    if (this.#restartAtMs === null) await this.#look(verify);
    if (this.#health.isChecked) await this.#endUnhealthy();
    if (this.#restartAtMs === null || this.#ports.clock.monotonicMs() < this.#restartAtMs) return;
    this.#held = this.#ports.restarts?.whyHeld(this.#allocation, this.#endedForMs()) ?? null;
    if (this.#held === null) await this.#restart();
  }

  #endedForMs(): number {
    const exit = this.exit;
    return exit === null ? Infinity : Math.max(0, this.#ports.clock.nowMs() - exit.atMs);
  }

  /** What is not alive any more is ended, and counts as failed. */
  async #endUnhealthy(): Promise<void> {
    if (this.#stopSince !== null || this.#observed?.kind !== 'running') return;
    const since = await this.#health.deadSince(this.#name());
    if (since !== null) await this.#end(this.#ports.clock.monotonicMs() - since >= this.task.stop.graceMs);
  }

  /** Its signal, and after its grace the kill. */
  async #end(graceOver: boolean): Promise<void> {
    const name = this.#name();
    const { processes } = this.#ports;
    if (graceOver) await processes.killTree(name);
    else if (!this.#signalled)
      this.#signalled = await processes.signal(name, this.task.stop.signal, STOP_SEQUENCE);
  }

  /** Its allocation is to end, and what runs has a while yet: nothing of it is started again. */
  startNoMore(): void {
    this.#over = true;
  }

  /** Nothing more is asked of it; what runs goes on. */
  close(): void {
    this.#health.close();
    this.#endpoints.close();
  }

  /** Drives it to its end: signal, grace, kill. Call again until `done`. @param isKill kill at once */
  async stop(isKill = false): Promise<void> {
    const nowMs = this.#ports.clock.monotonicMs();
    if (this.#stopSince === null) this.#signalled = false;
    this.#stopSince ??= nowMs;
    this.#health.end();
    if (this.#done) return;
    if (this.#attempt === null || this.#restartAtMs !== null) return this.#finish('stopped');
    const name = this.#name();
    if (this.#observed === null || this.#observed.kind === 'asked') {
      await fence(this.#ports, name);
    } else if (this.#observed.kind === 'running') {
      await this.#end(isKill || nowMs - this.#stopSince >= this.task.stop.graceMs);
    }
    await this.#look(false);
  }
  #signalled = false;

  /**
   * Puts off what its shim does when nobody is in contact. @returns false when that could not be said: it is said again
   */
  async renew(forMs: number): Promise<boolean> {
    if (this.#done || this.#observed?.kind !== 'running') return true;
    const link = await this.#ports.processes.open(this.#name());
    const answer = (await link?.renew(forMs)) ?? null;
    link?.close();
    return answer !== null;
  }

  /** Until when nothing happens by itself; null: only an event will. */
  wakeInMs(): number | null {
    if (this.#done) return null;
    const nowMs = this.#ports.clock.monotonicMs();
    const endsSince = this.#stopSince ?? (this.#restartAtMs === null ? this.#health.endsSince : null);
    if (endsSince !== null) {
      const graceMs = endsSince + this.task.stop.graceMs - nowMs;
      return graceMs > 0 ? graceMs : KILL_AGAIN_MS;
    }
    if (this.#restartAtMs === null) return null;
    return this.held === null ? Math.max(0, this.#restartAtMs - nowMs) : HELD_LOOK_MS;
  }

  async #look(verify: boolean): Promise<void> {
    const name = this.#name();
    this.#observed = await readAttempt(this.#ports, name);
    if (verify) await this.#verify(name);
    const observed = this.#observed;
    if (observed.kind === 'running') {
      this.#firstStartedAtMs ??= observed.startedAtMs;
      if (this.task.checks !== undefined && this.#stopSince === null && !this.#over)
        await this.#health.begin(name, observed.startedAtMs ?? this.#attempt?.atMs ?? 0);
    }
    if (observed.kind === 'ended') {
      this.#health.end();
      this.#firstStartedAtMs ??= observed.startedAtMs;
      if (this.task.checks !== undefined)
        this.#observed = { ...observed, exit: await this.#health.explained(name, observed.exit) };
      this.#ended(this.exit ?? observed.exit, observed.startedAtMs);
    }
  }

  async #verify(name: string): Promise<void> {
    const observed = this.#observed;
    if (observed?.kind === 'asked') {
      if (this.#stopSince !== null || this.#over) await fence(this.#ports, name);
      else if (this.#ports.clock.monotonicMs() - this.#askedAtMs >= ASK_AGAIN_MS) await this.#ask(name);
      else return;
    } else if (observed?.kind === 'claimed' || observed?.kind === 'running') {
      if (!(await checkShim(this.#ports, name, observed.shim))) return;
    } else return;
    this.#observed = await readAttempt(this.#ports, name);
  }

  async #ask(name: string): Promise<void> {
    this.#askedAtMs = this.#ports.clock.monotonicMs();
    const launch = `${attemptFolder(name)}/${ATTEMPT_FILES.launch}`;
    // The agent died between the two files: nobody can have been asked, so the attempt is written again.
    if ((await this.#ports.disk.sizeOf(launch)) !== null) await this.#ports.processes.startShim(name);
    else if (this.#attempt !== null) await this.#write(this.#attempt);
  }

  #ended(exit: ExitRecord, startedAtMs: number | null): void {
    if (this.#stopSince !== null || this.#over || exit.lost === 'host-reboot')
      return this.#finish(exit.lost ?? 'stopped');
    const { clock, random } = this.#ports;
    const nowMs = Math.round(clock.nowMs());
    const restartsAtMs = this.#attempt?.restartsAtMs ?? [];
    const doublings = this.restarts === 0 ? null : (this.#attempt?.doublings ?? 0);
    const history = { restartsAtMs, doublings, startedAtMs };
    const decision = decideRestart(this.#policy, exit, history, nowMs, random.fraction());
    if (!decision.restart) return this.#finish(decision.why);
    this.#doublings = decision.doublings;
    this.#held = null;
    this.#restartAtMs = clock.monotonicMs() + Math.max(0, decision.atMs - nowMs);
  }

  /** For an attempt whose own record is lost: never fewer than there were, so that none is begun too many (I22). */
  async #restartsBefore(last: number, numbers: readonly number[]): Promise<number[]> {
    const nowMs = Math.round(this.#ports.clock.nowMs());
    for (let number = last - 1; number > 0; number--) {
      if (!numbers.includes(number)) continue;
      const name = attemptName(this.#allocation.id, this.task.name, number);
      const path = `${attemptFolder(name)}/${ATTEMPT_FILES.spec}`;
      const found = await readRecord(this.#ports, path, attemptFile, { leave: true });
      if (found.kind === 'found')
        return [...found.value.restartsAtMs, ...Array<number>(last - number).fill(nowMs)];
    }
    return Array<number>(last - 1).fill(nowMs);
  }

  #finish(why: string): void {
    this.#done = true;
    this.#endpoints.close();
    this.#restartAtMs = null;
    this.#why = why;
  }

  async #restart(): Promise<void> {
    const attempt = this.#attempt;
    if (attempt === null) return;
    // Nothing of an attempt may be left when the next one begins: they would share what only one may have.
    if (!(await this.#ports.tools.cleanup(this.#name()))) {
      this.#restartAtMs = this.#ports.clock.monotonicMs() + KILL_AGAIN_MS;
      return;
    }
    const nowMs = Math.round(this.#ports.clock.nowMs());
    const restartsAtMs = [...withinWindow(this.#policy, attempt.restartsAtMs, nowMs), nowMs];
    await this.#beginAttempt(attempt.number + 1, restartsAtMs, this.#doublings);
  }

  async #beginAttempt(
    number: number,
    restartsAtMs: readonly number[],
    doublings: number | null,
  ): Promise<void> {
    await this.#write(this.#specOf(number, restartsAtMs, doublings, this.exit ?? { out: 0, err: 0 }));
    this.#restartAtMs = null;
    this.#signalled = false;
    this.#health.forget();
    this.#lastExit = this.exit;
    this.#observed = { kind: 'asked' };
    const old = number - this.#settings.attemptsKept;
    if (old < 1) return;
    await removeAttempt(this.#ports.disk, attemptName(this.#allocation.id, this.task.name, old));
  }

  async #write(spec: AttemptSpec): Promise<void> {
    const attempt = attemptName(spec.allocation, spec.task, spec.number);
    const launch = launchOf(this.#allocation, this.task, {
      attempt,
      cwd: this.#ports.disk.absolute(workFolder(this.#allocation.id)),
      outBase: spec.outBase,
      errBase: spec.errBase,
      bounds: this.#settings.logBounds,
      hostEnv: this.#settings.hostEnv,
      addresses: this.#addresses,
      stateId: this.#settings.stateId,
      oomScore: this.#settings.oomScore ?? 0,
      deadlines: this.#deadlines(),
    });
    const order = { attempt, allocation: this.#allocation, task: this.task, ...this.#own };
    await forgetReadyFiles(this.#ports, order);
    const env = { ...launch.env, ...(await this.#endpoints.prepare()) };
    const prepared = await this.#ports.tools.prepare(order, { ...launch, env });
    this.#askedAtMs = this.#ports.clock.monotonicMs();
    if (prepared.kind === 'ready') await beginAttempt(this.#ports, spec, prepared.launch);
    else await refuseAttempt(this.#ports, spec, prepared.why);
    this.#attempt = spec;
  }

  #specOf(
    number: number,
    restartsAtMs: readonly number[],
    doublings: number | null,
    ends: { out: number; err: number },
  ): AttemptSpec {
    return {
      allocation: this.#allocation.id,
      task: this.task.name,
      number,
      bootId: this.#ports.processes.bootId,
      outBase: ends.out,
      errBase: ends.err,
      atMs: Math.round(this.#ports.clock.nowMs()),
      restartsAtMs,
      ...(doublings === null || doublings === 0 ? {} : { doublings }),
    };
  }

  #name(): string {
    return attemptName(this.#allocation.id, this.task.name, this.#attempt?.number ?? 1);
  }

  #state(): TaskReport['state'] {
    const exit = this.exit;
    if (this.#done) {
      if (exit?.lost === 'host-reboot' || exit?.lost === 'shim-died') return 'lost';
      if (this.#stopSince !== null) return 'killed';
      return exit !== null && succeeded(exit) ? 'complete' : 'failed';
    }
    if (this.#attempt === null) return 'accepted';
    if (this.#stopSince !== null) return 'stopping';
    return this.started ? 'running' : 'starting';
  }
}

/** The one signal of a stop, above all that were ordered from outside: after it no other is sent. */
const STOP_SEQUENCE = 2 ** 52;
/** The kill is sent again after this: a process deep in the kernel dies when it comes back. */
const KILL_AGAIN_MS = 500;

export function exitOf(exit: ExitRecord): Exit {
  const { unhealthy } = exit;
  const more = {
    ...((exit.oomKills ?? 0) > 0 ? { oomKills: exit.oomKills ?? 0 } : {}),
    ...(unhealthy === undefined ? {} : { unhealthy }),
  };
  if (exit.code !== undefined) return { code: exit.code, ...more };
  if (exit.signal !== undefined) return { signal: exit.signal, ...more };
  return { lost: exit.lost ?? 'not-run' };
}
