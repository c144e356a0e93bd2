import type { CellAt } from '../replay/replay.ts';
import type { Amounts } from '../resources/quotas.ts';
import { addAmounts, noAmounts } from '../resources/quotas.ts';
import type { RunIndex } from '../replay/run-index.ts';

/** An arbiter keeps a grant past its end: 2 s for clocks (I36), and 6 s in which its use must be reported. */
const KEPT_MS = 8_000;

/** From the deletion of a batch, nothing of which is held any longer, until a scheduler asks again. */
const DELETED_LATE_MS = 1_000;

/**
 * What was granted of a namespace's quota lately and is not in the store: an unused ticket holds its amount until it expires, and the
 * use of another may not have been reported to the arbiter yet. What an arbiter recorded and did not answer before it died is held by
 * its successor. Slots wait for these amounts.
 * @param sinceMs true time; what expired before does not count
 */
export function outstandingGrantsIn(
  namespace: string,
  cell: CellAt,
  run: RunIndex,
  sinceMs: number,
): Amounts {
  const sum = noAmounts();
  if (!cell.quotas.has(namespace)) return sum;
  const counted = new Set<string>();
  for (const { atMs, fact } of run.grants) {
    const { body, arbiterNowMs } = fact;
    const { id } = body.claim;
    const endMs = atMs + body.expiresMs - arbiterNowMs + KEPT_MS;
    if (body.namespace !== namespace || endMs < sinceMs) continue;
    if (cell.allocations.has(id) || counted.has(id)) continue;
    counted.add(id);
    addAmounts(sum, body.claim, 1);
  }
  for (const { batch, deleted } of run.grantBatches.values()) {
    if (deleted !== null && deleted.atMs + DELETED_LATE_MS < sinceMs) continue;
    for (const grant of batch.grants) {
      if (grant.namespace !== namespace || cell.allocations.has(grant.id) || counted.has(grant.id)) continue;
      counted.add(grant.id);
      const { cpuMilli, memoryMib, gpuMilli } = grant;
      const resources = { cpuMilli, memoryMib, diskMib: 0, scalars: {} };
      addAmounts(sum, { resources, gpus: [{ device: 0, milli: gpuMilli }] }, 1);
    }
  }
  return sum;
}
