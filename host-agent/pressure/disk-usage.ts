import { formatMib } from '../../src/wire/values/units.ts';
import type { AllocationRun } from '../allocations/allocations.ts';
import type { AgentContext } from '../agent-context.ts';

const MIB = 1024 * 1024;
/** A disk of 1 GiB a second has taken 5 GiB more when it is looked at again. */
const BEAT_MS = 5_000;
/** Looking at millions of files takes long, and slows the disk for all tasks: a twentieth of the time at most. */
const REST_PARTS = 20;
/** Until the next look, where folders cannot be measured. */
const BLIND_MS = 3_600_000;
const DU_MS = 120_000;
/** Folders in one look: their paths must have room in one command. */
const FOLDERS_MAX = 256;

/**
 * Measures what allocations have in their folders, and ends those that have more than they asked for. The kernel does not
 * hold them: between two looks one may take any amount, and the safety of the others is the room that the host itself
 * keeps (`freeBytesMin`). An allocation that asked for no disk is not held to none.
 */
export class DiskWatch {
  readonly #context: AgentContext;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  /** One look. @returns how long until the next one; never throws */
  async look(): Promise<number> {
    const { ports, table } = this.#context;
    if (ports.commands === undefined) return BLIND_MS;
    const sinceMs = ports.clock.monotonicMs();
    try {
      const runs = table.all().filter((run) => !run.ended && run.allocation.resources.diskMib > 0);
      for (let i = 0; i < runs.length; i += FOLDERS_MAX) await this.#check(runs.slice(i, i + FOLDERS_MAX));
    } catch (error) {
      ports.log.warn({ error }, 'cannot look at what tasks have on disk');
    }
    return Math.max(BEAT_MS, (ports.clock.monotonicMs() - sinceMs) * REST_PARTS);
  }

  async #check(runs: readonly AllocationRun[]): Promise<void> {
    const { commands, disk } = this.#context.ports;
    const folders = runs.map((run) => disk.absolute(`allocations/${run.id}`));
    // Files may go while they are counted; what it says of the others counts all the same.
    const said = await commands?.run(['nice', 'du', '-skx', '--', ...folders], DU_MS);
    const kibOf = new Map(
      (said?.out ?? '').split('\n').map((line) => {
        const [kib = '', path = ''] = line.split('\t');
        return [path, Number(kib)] as const;
      }),
    );
    for (const [index, run] of runs.entries()) {
      const usedBytes = (kibOf.get(folders[index] ?? '') ?? 0) * 1024;
      if (usedBytes > run.allocation.resources.diskMib * MIB) await this.#end(run, usedBytes);
    }
  }

  async #end(run: AllocationRun, usedBytes: number): Promise<void> {
    const { clock, log, metrics } = this.#context.ports;
    const [used, asked] = [Math.ceil(usedBytes / MIB), run.allocation.resources.diskMib];
    const cause = `out of disk: its folder holds ${formatMib(used)}, and ${formatMib(asked)} were asked for`;
    metrics.count('moorage_host_disk_kills_total');
    log.warn({ ...run.ids, cause }, 'ended for what it has on disk');
    const reason = { why: 'disk' as const, cause, commandId: '', atMs: Math.round(clock.nowMs()) };
    await run
      .kill(reason)
      // It is ended all the same, and recorded later.
      .catch((error: unknown) => log.warn({ ...run.ids, error }, 'a stop reason is not recorded yet'));
  }
}
