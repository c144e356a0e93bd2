import type { CellAt } from '../replay/replay.ts';
import type { Amounts } from '../resources/quotas.ts';
import { addAmounts, noAmounts } from '../resources/quotas.ts';
import type { RunIndex } from '../replay/run-index.ts';

/** An arbiter keeps a grant past its end: 2 s for clocks (I36), and 6 s in which its use must be reported. */
const KEPT_MS = 8_000;

/**
 * What was granted of a namespace's quota lately and is not in the store: an unused ticket holds its amount until it expires, and the
 * use of another may not have been reported to the arbiter yet. Slots wait for these amounts.
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
  return sum;
}
