import type { Claim } from '../../../src/core/cell/claim.ts';
import type { Quota } from '../../../src/core/quota/quota.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import type { Amounts } from '../resources/quotas.ts';
import { addAmounts, hasLeftHost, noAmounts, overQuota } from '../resources/quotas.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** A grant may be used until its end and the tolerance of clocks (I36). */
const TOLERANCE_MS = 2_000;
/** An arbiter may grant by a quota that was lowered this short a time ago. */
const QUOTA_LAG_MS = 60_000;
/** And as if there were no quota, when the first one is this new. */
const FIRST_LAG_MS = 5_000;

interface Held {
  readonly claim: Claim;
  readonly namespace: string;
  /** The last moment at which its ticket can be used, by the arbiter's clock. */
  usableUntilMs: number;
}

/**
 * I40 and I41: at every grant, what was started and has not left its host, plus what was granted and can still be used, is within the
 * quota. A grant counts once for an allocation, however often it is given, until it can no longer be used or what it started
 * has left its host.
 */
export function checkGrants(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  const { quotas } = run;
  if (quotas.size === 0) return;
  const held = new Map<string, Held>();
  for (const { seq, atMs, fact } of history.grants) {
    const { body, arbiterNowMs } = fact;
    if (!quotas.has(body.namespace)) continue;
    const id = body.claim.id;
    const usableUntilMs = body.expiresMs + TOLERANCE_MS;
    const known = held.get(id);
    if (known === undefined) held.set(id, { claim: body.claim, namespace: body.namespace, usableUntilMs });
    else known.usableUntilMs = Math.max(known.usableUntilMs, usableUntilMs);
    const sum = sumOf(held, { seq, atMs }, arbiterNowMs, body.namespace, run);
    const over = overQuota(sum, loosest(quotas.get(body.namespace) ?? [], { seq, atMs }));
    if (over !== null)
      findings.prove('I40', body.namespace, `granted ${id} to ${body.scheduler}: ${over}`, [{ seq, atMs }]);
  }
}

function sumOf(
  held: Map<string, Held>,
  at: Stamp,
  arbiterNowMs: number,
  namespace: string,
  run: RunIndex,
): Amounts {
  const sum = noAmounts();
  for (const [id, grant] of held) {
    if (grant.namespace !== namespace) continue;
    const use = useOf(id, at, run);
    const isOver = use === 'ended' || (use === 'unused' && arbiterNowMs > grant.usableUntilMs);
    if (isOver) held.delete(id);
    else addAmounts(sum, grant.claim, 1);
  }
  return sum;
}

/** `used`: a host obeyed its start, and something of it may still be there. */
function useOf(id: string, at: Stamp, run: RunIndex): 'unused' | 'used' | 'ended' {
  const orders = run.ordersOf.get(id) ?? [];
  const isObeyed = orders.some(
    ({ order, answer }) =>
      order.kind === 'start' && answer !== null && answer.fact.status === 200 && answer.seq < at.seq,
  );
  if (!isObeyed) return 'unused';
  const deleted = run.allocations.get(id)?.deleted;
  const isEnded = (deleted != null && deleted.seq < at.seq) || hasLeftHost(id, at, run);
  return isEnded ? 'ended' : 'used';
}

/** The largest limit of each dimension that was in force lately; none at all when the quota is that new. */
function loosest(timeline: readonly Stamped<Quota | null>[], at: Stamp): Quota | undefined {
  const [first] = timeline;
  if (first !== undefined && first.atMs > at.atMs - FIRST_LAG_MS) return undefined;
  let loosest: Quota | undefined;
  for (const [i, { seq, fact }] of timeline.entries()) {
    if (seq > at.seq) break;
    const until = timeline[i + 1];
    if (until !== undefined && until.seq <= at.seq && until.atMs < at.atMs - QUOTA_LAG_MS) continue;
    if (fact === null) return undefined;
    loosest = loosest === undefined ? fact : wider(loosest, fact);
  }
  return loosest;
}

function wider(a: Quota, b: Quota): Quota {
  const max = (x: number | null, y: number | null): number | null =>
    x === null || y === null ? null : Math.max(x, y);
  return {
    namespace: a.namespace,
    cpuMilli: max(a.cpuMilli, b.cpuMilli),
    memoryMib: max(a.memoryMib, b.memoryMib),
    gpuMilli: max(a.gpuMilli, b.gpuMilli),
    allocations: max(a.allocations, b.allocations),
  };
}
