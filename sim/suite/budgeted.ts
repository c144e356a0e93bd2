import type { BudgetPolicy, BudgetRule } from '../../src/core/quota/budgets.ts';
import { BUDGETS } from '../../src/core/quota/budgets.ts';
import type { BucketRule } from '../../src/core/quota/token-bucket.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

const HOUR_S = 3_600;

/**
 * Little of everything, so that schedulers meet at empty buckets; a token comes every two to eight seconds. One kind in three is bounded in
 * the whole cell, one in each rack, one in both; here and there by zone in place of the rack, which no host has: all share that bucket.
 */
export function drawnBudgets(random: SeededRandom): BudgetPolicy {
  const own = random.split('domains');
  return Object.fromEntries(BUDGETS.map((kind) => [kind, withDomains(drawnRule(random), own)]));
}

function drawnRule(random: SeededRandom): BucketRule {
  return { burst: 1 + random.below(3), perHour: HOUR_S / (2 + 2 * random.below(4)) };
}

function withDomains(cell: BucketRule, random: SeededRandom): BudgetRule {
  const attribute = random.below(5) === 0 ? 'zone' : 'rack';
  const per = { attribute, ...drawnRule(random) };
  return [cell, { ...cell, per }, { per }][random.below(3)] ?? cell;
}

/** All that runs on a lost host is wanted elsewhere. */
export function replaced(request: Request): Request {
  const reschedule = { ...(request.file['reschedule'] as object), onHostLost: true };
  return { ...request, file: { ...request.file, reschedule } };
}
