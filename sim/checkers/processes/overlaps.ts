import type { RunIndex, ProcessStory, AllocationStory } from '../replay/run-index.ts';
import { pushTo } from '../replay/run-index.ts';
import type { Stamp } from '../../history/history.ts';
import type { Findings } from '../replay/violations.ts';

/** After the return of a cut-off host its duplicate is stopped within this time (I15), and its own grace. */
const RETURN_MS = 10_000;
/** From the signal's grace to the last process: a kill is repeated every half second. */
const KILL_MS = 2_000;

interface Life {
  readonly story: AllocationStory;
  readonly from: Stamp;
  /** null: it still runs. */
  readonly to: Stamp | null;
}

/**
 * I14 and I15: two allocations of one slot run at once only while the older one's host counts as lost, and until soon
 * after its return; never where the job says when the older one stops by itself, or wants a fence (I72). Sweeps over the intervals of each slot.
 */
export function checkOverlaps(run: RunIndex, findings: Findings): void {
  const slots = new Map<string, Life[]>();
  for (const [id, processes] of run.processesOf) {
    const story = run.allocations.get(id);
    const life = story === undefined ? null : lifeOf(story, processes);
    if (life !== null) pushTo(slots, life.story.slot, life);
  }
  for (const [slot, lives] of slots) {
    if (lives.length < 2) continue;
    lives.sort((a, b) => a.story.created.seq - b.story.created.seq);
    for (const [i, newer] of lives.entries())
      for (const older of lives.slice(0, i)) checkPair(slot, older, newer, run, findings);
  }
}

/** From the first start to the last end; between restarts it holds its slot as well. */
function lifeOf(story: AllocationStory, processes: readonly ProcessStory[]): Life | null {
  const [first] = processes;
  if (first === undefined) return null;
  let to: Stamp | null = first.started;
  for (const { ended } of processes) {
    if (ended === null) return { story, from: first.started, to: null };
    if (ended.seq > to.seq) to = ended;
  }
  return { story, from: first.started, to };
}

function checkPair(slot: string, older: Life, newer: Life, run: RunIndex, findings: Findings): void {
  if (older.to !== null && older.to.seq < newer.from.seq) return;
  if (newer.to !== null && newer.to.seq < older.from.seq) return;
  const { host, id } = older.story.allocation;
  const ids = `${id} on ${host} and ${newer.story.allocation.id} on ${newer.story.allocation.host}`;
  if (run.eligibilityAt(host, newer.story.created.seq) !== 'lost') {
    findings.prove('I14', slot, `${ids} run at once, and the older one's host was never lost`, [
      older.from,
      newer.story.created,
      newer.from,
    ]);
    return;
  }
  const { fences, stopAfterDisconnectMs } = run.groupOf(older.story.allocation) ?? {};
  // The older one is ended before a successor is placed: by a fence, or by itself (`disconnect.stopAfter`).
  if (fences !== undefined || stopAfterDisconnectMs !== undefined) {
    const [invariant, why] =
      fences === undefined
        ? ['I14', 'the older one should have stopped by itself']
        : ['I72', 'a fence should have ended the older one'];
    const told = `${ids} run at once, and ${why}`;
    findings.prove(invariant, slot, told, [older.from, newer.story.created, newer.from, older.to ?? run.end]);
    return;
  }
  const back = (run.eligibility.get(host) ?? []).find(
    ({ seq, fact }) => seq > newer.story.created.seq && fact?.state !== 'lost',
  );
  if (back === undefined) return;
  const overMs = back.atMs + RETURN_MS + KILL_MS + run.graceMsOf(older.story.allocation);
  const endMs = Math.min(older.to?.atMs ?? run.end.atMs, newer.to?.atMs ?? run.end.atMs);
  if (endMs > overMs)
    findings.prove('I15', slot, `${ids} still run at once ${secondsOf(endMs - back.atMs)} after the return`, [
      older.from,
      newer.from,
      back,
      older.to ?? run.end,
    ]);
}

function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
