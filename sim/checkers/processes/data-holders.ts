import type { Stamp } from '../../history/history.ts';
import type { ProcessStory, RunIndex } from '../replay/run-index.ts';
import { pushTo } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I73: of data that is not shared, only one allocation's tasks run at a time, whatever became of the other one's host: they would
 * write to it both.
 */
export function checkDataHolders(run: RunIndex, findings: Findings): void {
  const uses = new Map<string, ProcessStory[]>();
  for (const process of run.processes) {
    const { volumes = [], namespace } = run.allocations.get(process.allocation)?.allocation ?? {};
    for (const { access, claim, id } of volumes)
      if (access === 'exclusive') pushTo(uses, `${String(namespace)}/${claim} (data ${id})`, process);
  }
  for (const [data, processes] of uses)
    for (const [i, newer] of processes.entries())
      for (const older of processes.slice(0, i))
        if (older.allocation !== newer.allocation && isBefore(newer.started, older.ended))
          findings.prove(
            'I73',
            data,
            `${older.allocation} on ${older.host} and ${newer.allocation} on ${newer.host} have it at once`,
            [older.started, newer.started, older.ended ?? run.end],
          );
}

function isBefore(at: Stamp, end: Stamp | null): boolean {
  return end === null || at.seq < end.seq;
}
