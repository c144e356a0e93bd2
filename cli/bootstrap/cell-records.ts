import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { CellStore, Compare, Entry } from '../../src/ports/cell-store.ts';
import { allocationCodec, jobCodec, ledgerCodec } from '../../src/wire/records/records.ts';

/** Each fails only when somebody else changes the host's ledger at the same time. */
const TRIES_MAX = 8;

/**
 * Records a task of the cell as what it is, a job with one placement, in the transaction in which a scheduler would have: from
 * then on whoever owns its job looks after it.
 * @returns false: there is such a job already, and it stays
 */
export async function record(
  store: CellStore,
  keys: CellKeys,
  { job, allocation, nowMs }: { readonly job: Job; readonly allocation: Allocation; readonly nowMs: number },
): Promise<boolean> {
  const jobKey = keys.job(job.namespace, job.name);
  const ledgerKey = keys.ledger(allocation.host);
  const jobRecord: JobRecord = { job, version: 1, desired: 'run', submittedAtMs: nowMs };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { entries } = await store.read([jobKey, ledgerKey]);
    if (entries.has(jobKey)) return false;
    const entry = entries.get(ledgerKey);
    const ledger = entry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(entry.value);
    await store.attempt({
      compares: [isAt(jobKey, undefined), isAt(ledgerKey, entry)],
      writes: [
        { kind: 'put', key: jobKey, value: jobCodec.encode(jobRecord) },
        { kind: 'put', key: ledgerKey, value: ledgerCodec.encode(withClaim(ledger, allocation)) },
        {
          ...{ kind: 'put', key: keys.allocation(job.namespace, job.name, allocation.id) },
          value: allocationCodec.encode(allocation),
        },
      ],
      readBack: [],
    });
    // Whatever was said of the outcome: what is there now says it.
    if ((await store.read([jobKey])).entries.has(jobKey)) return true;
  }
  throw new Error(`the ledger of ${allocation.host} changes all the time`);
}

function isAt(key: string, entry: Entry | undefined): Compare {
  return { key, target: 'modRevision', equals: entry?.modRevision ?? 0 };
}
