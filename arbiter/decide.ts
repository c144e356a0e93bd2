import type { Pause } from '../src/core/quota/pauses.ts';
import { pausedBy } from '../src/core/quota/pauses.ts';
import type { Quota } from '../src/core/quota/quota.ts';
import type { GrantRefusal } from '../src/wire/api/arbiter-api.ts';
import type { Dimension, NamespaceAmounts } from '../src/core/quota/amounts.ts';
import { addAmounts, overQuota } from '../src/core/quota/amounts.ts';

export interface Situation {
  /** Of placement; null: it goes on. Pools of hosts are the schedulers' business: an arbiter does not read hosts. */
  readonly pause: Pause | null;
  /** null: the namespace has none, so nothing need be known about it. */
  readonly quota: Quota | null;
  /** null: this arbiter keeps the quotas; else the keeper's id, empty when there is none. */
  readonly otherKeeper: string | null;
  /** How long grants that this arbiter does not know may still be used; 0: it knows all. */
  readonly holdMs: number;
  readonly viewComplete: boolean;
  readonly used: NamespaceAmounts;
  readonly granted: NamespaceAmounts;
  /** What this placement adds; nothing when it is counted already. */
  readonly asked: NamespaceAmounts;
  readonly grantsFull: boolean;
}

/** A scheduler asks again after this: the end of a pause is not announced. */
const PAUSE_RETRY_MS = 5_000;
const VIEW_RETRY_MS = 1_000;
const BUSY_RETRY_MS = 1_000;
/** Another arbiter may know more, and keep the quotas by then. */
const HOLD_RETRY_MS = 2_000;
/** Another arbiter keeps the quotas within a moment. */
const KEEPER_RETRY_MS = 250;

/** @returns why no ticket can be given; null when one can */
export function grantRefusal(now: Situation): GrantRefusal | null {
  if (now.pause !== null)
    return { code: 'paused', detail: `placement ${pausedBy(now.pause)}`, retryAfterMs: PAUSE_RETRY_MS };
  if (now.grantsFull)
    return { code: 'busy', detail: 'too many grants are out and not yet used', retryAfterMs: BUSY_RETRY_MS };
  if (now.quota === null) return null;
  if (now.otherKeeper !== null) return standby(now.otherKeeper);
  if (!now.viewComplete)
    return {
      code: 'view-incomplete',
      detail: 'not every host has reported yet',
      retryAfterMs: VIEW_RETRY_MS,
    };
  if (now.holdMs > 0)
    return {
      code: 'starting',
      detail: 'grants of another arbiter may still be out',
      retryAfterMs: Math.min(now.holdMs, HOLD_RETRY_MS),
    };
  const over = overQuota(addAmounts(addAmounts(now.used, now.granted), now.asked), now.quota);
  return over === null
    ? null
    : { code: 'quota', detail: quotaDetail(over, now, now.quota), retryAfterMs: null };
}

/** Why nothing is granted that could not be recorded. @param otherKeeper as in the situation */
export function notRecorded(otherKeeper: string | null): GrantRefusal {
  if (otherKeeper !== null) return standby(otherKeeper);
  return { code: 'busy', detail: 'the store did not take the grant', retryAfterMs: BUSY_RETRY_MS };
}

function standby(keeper: string): GrantRefusal {
  const retryAfterMs = keeper === '' ? KEEPER_RETRY_MS : VIEW_RETRY_MS;
  return { code: 'standby', detail: standbyDetail(keeper), retryAfterMs };
}

function standbyDetail(keeper: string): string {
  return keeper === '' ? 'no arbiter keeps the quotas yet' : `arbiter ${keeper} keeps the quotas`;
}

/** `quota of team-a: cpu 500m asked, 300m left of 10000m (9000m used, 700m granted)` */
function quotaDetail(over: Dimension, now: Situation, quota: Quota): string {
  const [name, unit] = SHOWN[over];
  const amount = (value: number): string => `${String(value)}${unit}`;
  const limit = quota[over] ?? 0;
  const left = Math.max(0, limit - now.used[over] - now.granted[over]);
  return (
    `quota of ${quota.namespace}: ${name} ${amount(now.asked[over])} asked, ${amount(left)} left of ${amount(limit)} ` +
    `(${amount(now.used[over])} used, ${amount(now.granted[over])} granted)`
  );
}

const SHOWN: Readonly<Record<Dimension, readonly [name: string, unit: string]>> = {
  cpuMilli: ['cpu', 'm'],
  memoryMib: ['memory', 'Mi'],
  gpuMilli: ['gpu', 'm'],
  allocations: ['allocations', ''],
};
