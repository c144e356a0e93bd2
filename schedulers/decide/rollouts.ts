import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { Evaluation } from '../../src/core/slots/job-view.ts';
import { isUp, MIN_HEALTHY_MS } from '../../src/core/slots/rollout.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { rolloutCodec } from '../../src/wire/records/records.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import { writeAsOwner } from '../state/owner-write.ts';
import type { Term } from '../state/state.ts';
import { idsOf, RELOAD_DELAY_MS, wallMs } from '../state/state.ts';

/**
 * Records how far the update of a job is, when that is another thing now: for people, and for monitors, which undo an update
 * that failed where its job says so. A first version that is on its way is no update.
 */
export async function recordRollout(
  term: Term,
  job: OwnedJob,
  now: NonNullable<Evaluation['rollout']>,
): Promise<void> {
  const { version } = job.record;
  const known = job.rollout;
  if (job.recording || (known?.version === version && known.state === now.state)) return;
  if (version === 1 && now.state === 'updating') return;
  const { world } = term;
  const good = now.state === 'done' ? version : (known?.good ?? provenBefore(term, job));
  const record: RolloutRecord = {
    ...{ version, ...now, sinceMs: wallMs(world) },
    ...(good === undefined ? {} : { good }),
  };
  job.recording = true;
  try {
    const key = world.keys.rollout(job.namespace, job.name);
    const reply = await writeAsOwner(world, job, [{ kind: 'put', key, value: rolloutCodec.encode(record) }]);
    if (reply.outcome !== 'applied') return term.reload(job, RELOAD_DELAY_MS);
    job.ownWrites += 1;
    job.rollout = record;
    term.enqueue(job);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    world.log.warn({ ...idsOf(job), error }, 'cannot record how far an update is');
    term.enqueueAfter(job, RELOAD_DELAY_MS);
  } finally {
    job.recording = false;
  }
}

/**
 * The version that is replaced by the first update of a job, if all its instances are up and have been for long enough: no update
 * ended with it, and it is as good as one with which one did.
 */
function provenBefore({ world }: Term, job: OwnedJob): number | undefined {
  const nowMs = world.clock.monotonicMs();
  const [first, ...others] = [...job.entries.values()].filter(
    ({ allocation }) => allocation.jobVersion < job.record.version,
  );
  if (first === undefined) return undefined;
  const version = first.allocation.jobVersion;
  const isProven = ({ allocation, report, upSinceMs }: Entry): boolean => {
    const neededMs = job.record.job.groups[allocation.group]?.minHealthyMs ?? MIN_HEALTHY_MS;
    return report !== null && isUp(report) && upSinceMs !== null && nowMs - upSinceMs >= neededMs;
  };
  const isAll = [first, ...others].every(
    (entry) => entry.allocation.jobVersion === version && isProven(entry),
  );
  return isAll ? version : undefined;
}
