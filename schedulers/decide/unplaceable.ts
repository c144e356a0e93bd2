import type { Explanation } from '../../src/core/placement/explain.ts';
import { unplaceableOutcome } from '../../src/core/slots/outcomes.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import { createOutcomesAsOwner } from '../state/owner-write.ts';
import type { Term } from '../state/state.ts';
import { idsOf, newId, RELOAD_DELAY_MS } from '../state/state.ts';

/** Outcomes written in one transaction, under the store's floor of 128 operations. */
const OUTCOMES_MAX = 60;

/**
 * Slots that found no host until their `waitMax` ended get an outcome `failed` with the cause `unplaceable` (I24): monitors,
 * the CLI and a successor read outcomes already.
 */
export async function endUnplaceable(
  term: Term,
  job: OwnedJob,
  fills: readonly Fill[],
  nowMs: number,
): Promise<void> {
  if (job.failing) return;
  job.failing = true;
  job.slotsFailed += 1;
  try {
    for (let i = 0; i < fills.length && !job.dropped; i += OUTCOMES_MAX)
      await writeOutcomes(term, job, fills.slice(i, i + OUTCOMES_MAX), nowMs);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    term.world.log.warn({ ...idsOf(job), error }, 'cannot write that a job is unplaceable');
    term.reload(job, RELOAD_DELAY_MS);
  } finally {
    job.failing = false;
    term.enqueue(job);
  }
}

async function writeOutcomes(
  term: Term,
  job: OwnedJob,
  fills: readonly Fill[],
  nowMs: number,
): Promise<void> {
  const { world, options } = term;
  const outcomes = fills.map((fill) => {
    const { explanation, blockedWhy } = job.group(fill.group);
    const reason = explanation === null ? blockedWhy : summaryOf(explanation);
    const why = reason === '' ? 'no place in time' : reason;
    const made = { id: newId(world), scheduler: options.id, why, nowMs };
    return unplaceableOutcome(job.record.job, job.record.version, fill, made);
  });
  const reply = await createOutcomesAsOwner(world, job, outcomes);
  if (reply.outcome !== 'applied') {
    term.reload(job, RELOAD_DELAY_MS);
    return;
  }
  job.ownWrites += 1;
  for (const outcome of outcomes) job.addOutcome(outcome);
}

/** The most important of an explanation in one line. */
export function summaryOf(explanation: Explanation): string {
  const { hosts, hostsTotal, refusals } = explanation;
  if (hostsTotal === 0) return 'there are no hosts';
  const [nearest] = hosts;
  if (nearest === undefined) return 'a host has capacity again';
  const counts = refusals.map(({ check, hosts: count }) => `${String(count)} by ${check}`).join(', ');
  return `no host fits (${counts} of ${String(hostsTotal)}); nearest ${nearest.host}: ${nearest.detail}`;
}
