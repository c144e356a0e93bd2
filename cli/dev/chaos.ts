import type { Steps } from '../local-cell/steps.ts';
import type { LocalCell } from '../local-cell/local-cell.ts';
import type { Terminal } from '../command/terminal.ts';

/**
 * Kills one process of the cell after the other, as a crash does, until the cell is stopped. The cell starts each again, as a supervisor
 * would; tasks run on.
 *
 * Which one and when is drawn anew each time: nothing here is replayed. What a seed can replay, the simulator does (`moorage sim replay`).
 *
 * @param everyMs from one death to the next, on average
 */
export async function killOneByOne(
  cell: Pick<LocalCell, 'members'>,
  {
    everyMs,
    steps,
    sleep,
  }: { readonly everyMs: number; readonly steps: Steps; readonly sleep: Terminal['sleep'] },
  stopped: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(everyMs * (0.5 + Math.random()), stopped);
    if (stopped.aborted) return;
    const alive = cell.members.filter(({ pid }) => pid > 0);
    const victim = alive[Math.floor(Math.random() * alive.length)];
    if (victim === undefined) continue;
    steps.line(`  chaos: kill -9 ${String(victim.pid)} (${victim.name})`);
    try {
      process.kill(victim.pid, 'SIGKILL');
    } catch {
      // It has just ended by itself.
    }
  }
}
