/**
 * What a host does when its memory or disk runs short. The memory guard below reads `memory-pressure.ts` (the kernel's PSI)
 * and `usage.ts` (what each allocation uses now), and ends one allocation at a time, the lowest class first.
 * `disk-usage.ts` measures the folders of allocations, and ends those that exceed what they asked for.
 */
import { allocatable } from '../../src/core/host/host.ts';
import type { AllocationRun } from '../allocations/allocations.ts';
import type { AgentContext } from '../agent-context.ts';
import type { Pressure } from './memory-pressure.ts';
import { isStalled, pressureOf } from './memory-pressure.ts';
import type { MemoryUse } from '../tasks/qos.ts';
import { chooseVictim } from '../tasks/qos.ts';
import { usageOf } from './usage.ts';

const MIB = 1024 * 1024;
/** Nothing can go wrong: all that tasks may use fits, and the kernel holds them to it. */
const SAFE_MS = 1_000;
/** Where no group counts what tasks use, there is nothing to see. */
const BLIND_MS = 3_600_000;
const CALM_MS = 250;
const TIGHT_MS = 20;
const TIGHT_SHARE = 0.75;
/** How long what a victim held may take to come back, before another one is chosen. */
const VICTIM_MS = 2_000;

/**
 * Keeps a host on which tasks may use more than there is from running out: ends the lowest class first, one at a time,
 * before the kernel chooses by itself (S3.10). Each end has its stop reason on disk before anything is killed.
 */
export class MemoryGuard {
  readonly #context: AgentContext;
  #victim: { readonly run: AllocationRun; readonly untilMs: number } | null = null;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  /** One look. @returns how long until the next one; never throws */
  async look(): Promise<number> {
    try {
      return await this.#look();
    } catch (error) {
      this.#context.ports.log.warn({ error }, 'cannot look at memory');
      return SAFE_MS;
    }
  }

  async #look(): Promise<number> {
    const { table, ports } = this.#context;
    if (ports.tools.limits.enforced.memory === 'none') return BLIND_MS;
    const haveBytes = allocatable(this.#context.host()).memoryMib * MIB;
    const runs = table.all().filter((run) => !run.ended);
    if (runs.reduce((sum, run) => sum + boundOf(run), 0) * MIB <= haveBytes) return SAFE_MS;
    const uses = await Promise.all(runs.map((run) => this.#useOf(run)));
    const used = uses.reduce((sum, use) => sum + use.usedBytes, 0);
    ports.metrics.gauge('moorage_host_tasks_memory_bytes', used);
    if (this.#isWaiting()) return TIGHT_MS;
    const pressure = await pressureOf(ports.cgroups);
    if (pressure !== null) ports.metrics.gauge('moorage_host_memory_stalled_percent', pressure.fullAvg10);
    const victim = chooseVictim(uses, haveBytes, isStalled(pressure));
    const run = victim === null ? undefined : table.get(victim.id);
    if (victim !== null && run !== undefined) await this.#end(run, victim, used, pressure);
    return used > haveBytes * TIGHT_SHARE ? TIGHT_MS : CALM_MS;
  }

  #isWaiting(): boolean {
    if (this.#victim === null) return false;
    const over = this.#victim.run.ended || this.#context.ports.clock.monotonicMs() >= this.#victim.untilMs;
    if (over) this.#victim = null;
    return !over;
  }

  async #end(
    run: AllocationRun,
    use: MemoryUse,
    usedBytes: number,
    pressure: Pressure | null,
  ): Promise<void> {
    const { clock, metrics, log } = this.#context.ports;
    const mib = (bytes: number): string => String(Math.round(bytes / MIB));
    const stalled = isStalled(pressure)
      ? `, ${String(pressure?.fullAvg10)} % of the time was lost to waiting`
      : '';
    const cause =
      `memory pressure: tasks of this host used ${mib(usedBytes)} MiB, ` +
      `this one ${mib(use.usedBytes)} MiB with ${mib(use.requestedBytes)} MiB asked for${stalled}`;
    this.#victim = { run, untilMs: clock.monotonicMs() + VICTIM_MS };
    metrics.count('moorage_host_memory_kills_total');
    log.warn({ ...run.ids, cause }, 'ended to keep the others');
    const atMs = Math.round(clock.nowMs());
    await run
      .kill({ why: 'memory-pressure', cause, commandId: '', atMs })
      // It is ended all the same, and recorded later.
      .catch((error: unknown) => log.warn({ ...run.ids, error }, 'a stop reason is not recorded yet'));
  }

  async #useOf(run: AllocationRun): Promise<MemoryUse> {
    const { memoryBytes } = await usageOf(this.#context.ports.tools.limits, run);
    return {
      id: run.id,
      precedence: run.allocation.precedence,
      usedBytes: memoryBytes ?? 0,
      requestedBytes: run.allocation.resources.memoryMib * MIB,
      startedAtMs: run.report().startedAtMs ?? 0,
    };
  }
}

/** The most that its tasks may use, MiB. */
function boundOf(run: AllocationRun): number {
  return run.tasks.reduce((sum, { task }) => sum + (task.limits?.memoryMib ?? task.resources.memoryMib), 0);
}
