import type { Check } from '../../src/core/cell/job.ts';
import type { CheckReport, CheckState } from '../../src/core/host/report.ts';
import type { ProbeAnswer } from '../../src/ports/probes.ts';
import { DiskError } from '../../src/ports/disk.ts';
import { ProbeError } from '../../src/ports/probes.ts';
import { ProcessError } from '../../src/ports/process.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { HealthRecord } from '../../src/wire/host-files/attempt-files.ts';
import { ATTEMPT_FILES, healthFile } from '../../src/wire/host-files/attempt-files.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import { readRecord } from '../state/records.ts';
import { attemptFolder } from './attempt.ts';
import type { CheckedAttempt } from './check-probe.ts';
import { endLeftChecks, tryCheck } from './check-probe.ts';

/** One health check of an attempt. */
interface Running {
  readonly name: string;
  readonly check: Check;
  report: CheckReport;
  /** Tries in a row that found the same, and what that was. */
  inARow: number;
  lastPassed: boolean;
  /** When `report` was told last (monotonic). */
  toldAtMs: number;
}

/** Of this host. */
const FAULTS = [DiskError, ProcessError, ProbeError];
/** Until a check has passed once it is tried at least so often: what is ready soon is seen to be. */
const FIRST_INTERVAL_MS = 1_000;
/** What a check finds while it goes on failing is told so often at most. */
const DETAIL_EVERY_MS = 5_000;
/** Of each wait, drawn anew: checks that began together do not stay together. */
const JITTER_SHARE = 0.1;

/**
 * The health checks of one attempt at a task, made by its own host, whether the rest of the cell is there or not. What they
 * found is kept in the attempt's folder, and the next agent goes on from there.
 */
export class TaskChecks {
  readonly #ports: TaskPorts;
  readonly #checked: CheckedAttempt;
  readonly #startedAtMs: number;
  readonly #onChange: () => void;
  readonly #running: readonly Running[];
  readonly #closing = new AbortController();
  #tries = 0;

  private constructor(
    ports: TaskPorts,
    checked: CheckedAttempt,
    from: { readonly startedAtMs: number; readonly known: HealthRecord | null },
    onChange: () => void,
  ) {
    this.#ports = ports;
    this.#checked = checked;
    this.#startedAtMs = from.startedAtMs;
    this.#onChange = onChange;
    const unknown: CheckReport = { state: 'waiting', sinceMs: from.startedAtMs, detail: '' };
    this.#running = Object.entries(checked.task.checks ?? {}).map(([name, check]) => ({
      ...{ name, check, inARow: 0, lastPassed: false, toldAtMs: -Infinity },
      report: from.known?.checks[name] ?? unknown,
    }));
  }

  /**
   * @param startedAtMs of the attempt, wall clock
   * @param onChange called when what they say of the task has changed
   */
  static async begin(
    ports: TaskPorts,
    checked: CheckedAttempt,
    startedAtMs: number,
    onChange: () => void,
  ): Promise<TaskChecks> {
    await endLeftChecks(ports, checked.attempt);
    const path = `${attemptFolder(checked.attempt)}/${ATTEMPT_FILES.health}`;
    const found = await readRecord(ports, path, healthFile);
    const known = found.kind === 'found' ? found.value : null;
    const checks = new TaskChecks(ports, checked, { startedAtMs, known }, onChange);
    for (const one of checks.#running) void checks.#follow(one);
    return checks;
  }

  /** All of them pass. */
  get ready(): boolean {
    return this.#running.every(({ report }) => report.state === 'passing');
  }

  /** Which check for `alive` fails, and how, for people; null: none does. */
  get dead(): string | null {
    const dead = this.#running.find(
      ({ check, report }) => check.purpose === 'alive' && report.state === 'failing',
    );
    return dead === undefined ? null : `check ${dead.name}: ${dead.report.detail}`;
  }

  reports(): Readonly<Record<string, CheckReport>> {
    return Object.fromEntries(this.#running.map(({ name, report }) => [name, report]));
  }

  /** A try that is under way comes to nothing. */
  close(): void {
    this.#closing.abort();
  }

  async #follow(one: Running): Promise<void> {
    const { clock, random, checkSemaphore } = this.#ports;
    const { signal } = this.#closing;
    const spread = random.fraction() * Math.min(FIRST_INTERVAL_MS, one.check.intervalMs) * JITTER_SHARE;
    await sleep(clock, spread, signal);
    while (!signal.aborted) {
      const answer = await checkSemaphore.run(() => this.#try(one));
      if (answer !== null) await this.#count(one, answer);
      await sleep(clock, this.#pauseMs(one) * (1 - JITTER_SHARE * random.fraction()), signal);
    }
  }

  #pauseMs({ check, report }: Running): number {
    const isSoon = report.state === 'waiting' && (check.purpose === 'ready' || this.#isStarting(check));
    return isSoon ? Math.min(check.intervalMs, FIRST_INTERVAL_MS) : check.intervalMs;
  }

  #isStarting({ startPeriodMs }: Check): boolean {
    return this.#ports.clock.nowMs() - this.#startedAtMs < startPeriodMs;
  }

  /** @returns null: nothing was found out */
  async #try({ name, check }: Running): Promise<ProbeAnswer | null> {
    if (this.#closing.signal.aborted) return null;
    const { metrics, log } = this.#ports;
    this.#tries += 1;
    try {
      const answer = await tryCheck(this.#ports, this.#checked, check, this.#tries);
      metrics.count('moorage_host_checks_total');
      if (!answer.passed) metrics.count('moorage_host_checks_failed_total');
      return answer;
    } catch (error) {
      // A fault of this host says nothing of the task.
      const isFault = FAULTS.some((fault) => error instanceof fault);
      if (!isFault) throw error;
      log.warn({ ...logIds(this.#checked.allocation), check: name, error }, 'a health check cannot be made');
      return null;
    }
  }

  async #count(one: Running, { passed, detail }: ProbeAnswer): Promise<void> {
    const { check, report } = one;
    if (this.#closing.signal.aborted) return;
    const is: CheckState = passed ? 'passing' : 'failing';
    const isIgnored = !passed && this.#isStarting(check);
    one.inARow = isIgnored ? 0 : (one.lastPassed === passed ? one.inARow : 0) + 1;
    one.lastPassed = passed;
    const isSame = is === report.state;
    if (!isSame && one.inARow < (passed ? check.successThreshold : check.failureThreshold)) return;
    const { clock } = this.#ports;
    const isOther = is === 'failing' && detail !== report.detail;
    if (isSame && (!isOther || clock.monotonicMs() - one.toldAtMs < DETAIL_EVERY_MS)) return;
    one.toldAtMs = clock.monotonicMs();
    const sinceMs = isSame ? report.sinceMs : Math.round(clock.nowMs());
    const found: CheckReport = { state: is, sinceMs, detail };
    // Kept before it is told: an agent that is started again does not take it back.
    await this.#keep({ ...this.reports(), [one.name]: found });
    one.report = found;
    if (!this.#closing.signal.aborted) this.#onChange();
  }

  /** For the next agent. */
  async #keep(checks: HealthRecord['checks']): Promise<void> {
    const { disk, log } = this.#ports;
    const { attempt, allocation } = this.#checked;
    try {
      await disk.replace(`${attemptFolder(attempt)}/${ATTEMPT_FILES.health}`, healthFile.encode({ checks }));
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      log.warn({ ...logIds(allocation), error }, 'what health checks found is not kept');
    }
  }
}
