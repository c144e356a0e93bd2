import { windowText } from '../../src/core/host/drain-window.ts';
import { EMPTY_LEDGER, usedOf } from '../../src/core/fit/ledger.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type { HostStatus } from '../../src/wire/api/monitor-api.ts';
import type { CellCopy } from '../view/view.ts';
import type { ComingVerdict } from './hosts.ts';

type VerdictOf = (host: string) => ComingVerdict | null;

/** `host-9` before `host-10`. One collator for all: making one costs more than a thousand comparisons. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true });

/** @returns null when no such host is registered */
export function hostStatus(
  copy: CellCopy,
  view: CellView,
  verdictOf: VerdictOf,
  id: string,
): HostStatus | null {
  const host = copy.hostOf(id);
  if (host === undefined) return null;
  const ledger = copy.ledgers.get(id)?.value ?? EMPTY_LEDGER;
  const freshness = view.host(id);
  const verdict = verdictOf(id);
  return {
    host,
    eligibility: copy.eligibility.get(id)?.value ?? null,
    used: usedOf(ledger),
    gpuUsedMilli: ledger.gpuMilli.reduce((sum, milli) => sum + milli, 0),
    allocations: copy.allocationsByHost.of(id).size,
    alive: copy.alive.get(id) !== undefined,
    asOfMs: freshness?.asOfMs ?? null,
    staleSinceMs: freshness?.staleSinceMs ?? null,
    ...(verdict === null ? {} : { verdictAtMs: verdict.dueMs }),
  };
}

/** What is planned for hosts on which the job has something, for people. */
export function plannedDrains(copy: CellCopy, jobKey: string): readonly string[] {
  const hosts = new Set([...copy.allocationsByJob.of(jobKey).values()].map(({ value }) => value.host));
  return [...hosts].sort(byNumber).flatMap((host) => {
    const { window, state = 'ready' } = copy.eligibility.get(host)?.value ?? {};
    return window === undefined || state === 'draining' ? [] : [`${host} is ${windowText(window)}`];
  });
}

/** As lists of hosts are ordered. Ids that differ and mean the same number, as `h1` and `h01`, have an order too. */
export function byNumber(a: string, b: string): number {
  return BY_NUMBER.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
