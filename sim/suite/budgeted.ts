import type { BudgetPolicy } from '../../src/core/quota/budgets.ts';
import { BUDGETS } from '../../src/core/quota/budgets.ts';
import type { BucketRule } from '../../src/core/quota/token-bucket.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

const HOUR_S = 3_600;

/** Little of everything, so that schedulers meet at empty buckets; a token comes every two to eight seconds. */
export function drawnBudgets(random: SeededRandom): BudgetPolicy {
  const rule = (): BucketRule => ({
    burst: 1 + random.below(3),
    perHour: HOUR_S / (2 + 2 * random.below(4)),
  });
  return Object.fromEntries(BUDGETS.map((kind) => [kind, rule()]));
}

/** All that runs on a lost host is wanted elsewhere. */
export function replaced(request: Request): Request {
  const reschedule = { ...(request.file['reschedule'] as object), onHostLost: true };
  return { ...request, file: { ...request.file, reschedule } };
}
