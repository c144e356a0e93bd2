import { isId } from '../../src/core/cell/ids.ts';
import type { AllocationSpec } from '../../src/wire/host-files/host-files.ts';
import { specFile } from '../../src/wire/host-files/host-files.ts';
import { parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import type { Journal } from '../state/journal.ts';
import type { AgentPorts } from '../ports.ts';
import { readRecord } from '../state/records.ts';

/** Attempt numbers by task. */
export type AttemptNumbers = ReadonlyMap<string, readonly number[]>;

export interface FoundAllocation {
  readonly spec: AllocationSpec;
  readonly attempts: AttemptNumbers;
}

export interface Findings {
  readonly allocations: readonly FoundAllocation[];
  /**
   * Attempts whose allocation's record cannot be read. They run on, untouched: a repeated start takes them over, a stop
   * or removal ends them (I31).
   */
  readonly orphans: ReadonlyMap<string, AttemptNumbers>;
}

/** Reads at once: enough to keep a disk busy, few enough for the file descriptors. */
const READS_MAX = 32;

/** What an earlier agent left in the state folder. Removes starts that were never acknowledged or whose ids are fenced. */
export async function findAll(ports: AgentPorts, journal: Journal): Promise<Findings> {
  const attempts = await findAttempts(ports);
  const ids = (await ports.disk.list('allocations')).filter(isId);
  const allocations: FoundAllocation[] = [];
  const orphans = new Map(attempts);
  for (let i = 0; i < ids.length; i += READS_MAX)
    await Promise.all(
      ids.slice(i, i + READS_MAX).map(async (id) => {
        const spec = await readRecord(ports, `allocations/${id}/spec.json`, specFile);
        const isFenced = journal.isFenced(id);
        if (spec.kind === 'found' && !isFenced) {
          allocations.push({ spec: spec.value, attempts: attempts.get(id) ?? new Map() });
          orphans.delete(id);
        } else if (isFenced || (spec.kind === 'absent' && !attempts.has(id))) {
          await ports.disk.remove(`allocations/${id}`);
        }
      }),
    );
  return { allocations, orphans };
}

async function findAttempts(ports: AgentPorts): Promise<Map<string, Map<string, number[]>>> {
  const found = new Map<string, Map<string, number[]>>();
  for (const name of await ports.disk.list('attempts')) {
    const parts = parseAttemptName(name);
    if (parts === null) continue;
    const tasks = found.get(parts.allocation) ?? new Map<string, number[]>();
    found.set(parts.allocation, tasks);
    tasks.set(parts.task, [...(tasks.get(parts.task) ?? []), parts.number]);
  }
  return found;
}
