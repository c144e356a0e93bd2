import type { TaskReport } from '../../src/core/host/report.ts';
import type { ExitRecord } from '../../src/wire/host-files/attempt-files.ts';
import { ATTEMPT_FILES, unhealthyFile } from '../../src/wire/host-files/attempt-files.ts';
import type { TaskPorts } from '../drivers/drivers.ts';
import { readRecord } from '../state/records.ts';
import { attemptFolder } from './attempt.ts';
import type { CheckedAttempt } from './check-probe.ts';
import { TaskChecks } from './checks.ts';

export interface TaskHealthOrder extends Omit<CheckedAttempt, 'attempt'> {
  /** Called when its health checks found something new. */
  readonly onHealth: () => void;
}

/** The health of a task: the checks of its present attempt, and whether that must end because it is not alive. */
export class TaskHealth {
  readonly #ports: TaskPorts;
  readonly #order: TaskHealthOrder;
  #checks: TaskChecks | null = null;
  #endsSince: number | null = null;
  #closed = false;

  constructor(ports: TaskPorts, order: TaskHealthOrder) {
    this.#ports = ports;
    this.#order = order;
  }

  /** Are checks under way? */
  get isChecked(): boolean {
    return this.#checks !== null;
  }

  /** Since when its attempt is being ended, because a check failed (monotonic); null: it is not. */
  get endsSince(): number | null {
    return this.#endsSince;
  }

  /** What its checks say; nothing where none is made. */
  report(): Pick<TaskReport, 'ready' | 'checks'> {
    return this.#checks === null ? {} : { ready: this.#checks.ready, checks: this.#checks.reports() };
  }

  /** Begins the checks of an attempt that runs, unless they are under way. @param startedAtMs wall clock */
  async begin(attempt: string, startedAtMs: number): Promise<void> {
    const { allocation, task, addresses, onHealth } = this.#order;
    if (task.checks === undefined || this.#ports.probes === undefined) return;
    if (this.#checks !== null || this.#closed) return;
    const checked = { attempt, allocation, task, addresses };
    this.#checks = await TaskChecks.begin(this.#ports, checked, startedAtMs, onHealth);
  }

  /**
   * Is the attempt to be ended? Why is recorded before anything is done to it.
   * @returns since when (monotonic); null: it is not
   */
  async deadSince(attempt: string): Promise<number | null> {
    const dead = this.#checks?.dead ?? null;
    if (dead === null) return null;
    if (this.#endsSince !== null) return this.#endsSince;
    const { clock, disk } = this.#ports;
    const nowMs = clock.monotonicMs();
    const record = { why: dead, atMs: Math.round(clock.nowMs()) };
    await disk.publish(`${attemptFolder(attempt)}/${ATTEMPT_FILES.unhealthy}`, unhealthyFile.encode(record));
    this.#endsSince = nowMs;
    return nowMs;
  }

  /** An exit, with why this host ended the attempt, where it did so for its health. */
  async explained(attempt: string, exit: ExitRecord): Promise<ExitRecord> {
    if (this.#order.task.checks === undefined) return exit;
    const path = `${attemptFolder(attempt)}/${ATTEMPT_FILES.unhealthy}`;
    const found = await readRecord(this.#ports, path, unhealthyFile, { leave: true });
    return found.kind === 'found' ? { ...exit, unhealthy: found.value.why } : exit;
  }

  /** Its attempt has ended, or is to. */
  end(): void {
    this.#checks?.close();
    this.#checks = null;
  }

  /** Another attempt begins. */
  forget(): void {
    this.#endsSince = null;
  }

  /** No checks are begun any more. */
  close(): void {
    this.#closed = true;
    this.end();
  }
}
