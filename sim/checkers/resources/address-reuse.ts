import { ADDRESSES } from '../../../src/core/cell/resources.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { RecordedHistory, Stamp } from '../../history/history.ts';
import type { CellAt } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** Faults that only cut a host off. Any other may make it forget the order of its leases. */
const HARMLESS: ReadonlySet<string> = new Set(['cut', 'cut-from', 'isolate', 'break-connections']);

interface Held {
  readonly by: string;
  /** null: still bound. */
  freed: Stamp | null;
}

/**
 * I45, order of reuse (S1.3): a host lends the address that is free longest, and before that one that was never lent. Seen from the
 * sockets of its tasks: an address that was just freed is not bound again while other addresses have surely been free for longer.
 * Checked only for hosts without faults: leases are not synced, and their order is by the host's clock.
 */
export function checkAddressReuse(
  history: RecordedHistory,
  run: RunIndex,
  cell: CellAt,
  findings: Findings,
): void {
  if (history.restores.length > 0) return;
  const troubled = new Set(
    history.nemesis.flatMap(({ fact }) => (HARMLESS.has(fact.kind) ? [] : fact.targets)),
  );
  const hosts = new Map<string, Map<string, Held>>();
  for (const { seq, atMs, fact } of history.hosts) {
    if ((fact.kind !== 'bound' && fact.kind !== 'freed') || fact.what !== 'address') continue;
    if (troubled.has(fact.host)) continue;
    let held = hosts.get(fact.host);
    if (held === undefined) hosts.set(fact.host, (held = new Map<string, Held>()));
    const at = { seq, atMs };
    const last = held.get(fact.name);
    if (fact.kind === 'freed') {
      if (last !== undefined) last.freed = at;
      continue;
    }
    const by = parseAttemptName(fact.attempt)?.allocation ?? '';
    if (last !== undefined && last.freed !== null && last.by !== by) {
      const longer = freeLonger({ ...fact, by }, held, last.freed, at, { run, cell });
      if (longer > 0)
        findings.prove(
          'I45',
          `${fact.host}:${fact.name}`,
          `lent again while ${String(longer)} other addresses had been free for longer`,
          [last.freed, at],
        );
    }
    held.set(fact.name, { by, freed: null });
  }
}

/** How many addresses were surely not lent when this one was, and free since before it was freed. */
function freeLonger(
  { host, name, by }: { readonly host: string; readonly name: string; readonly by: string },
  held: ReadonlyMap<string, Held>,
  freed: Stamp,
  at: Stamp,
  { run, cell }: { readonly run: RunIndex; readonly cell: CellAt },
): number {
  const whole = cell.hosts.get(host)?.capacity.scalars[ADDRESSES] ?? 0;
  let free = whole - held.size;
  for (const [other, { by: holder, freed: otherFreed }] of held) {
    const story = run.allocations.get(holder);
    if (other === name || otherFreed === null || story === undefined || story.deleted === null) continue;
    // Its record was deleted after its host reported the release: the address was free by then.
    if (story.deleted.seq < freed.seq && story.outcome?.fact.exit?.lost !== 'host-lost') free += 1;
  }
  // One of the addresses that are lent and not bound yet is the one that is being bound.
  const own = (run.allocations.get(by)?.allocation.resources.scalars[ADDRESSES] ?? 0) > 0 ? 1 : 0;
  return free - (lentUnbound(host, held, freed, at, run) - own);
}

/** At most so many were lent to tasks that had not bound them yet, or never did. */
function lentUnbound(
  host: string,
  held: ReadonlyMap<string, Held>,
  freed: Stamp,
  at: Stamp,
  run: RunIndex,
): number {
  let lent = 0;
  for (const [id, orders] of run.ordersOf) {
    const story = run.allocations.get(id);
    if (story === undefined || (story.deleted !== null && story.deleted.seq < freed.seq)) continue;
    if (!orders.some(({ seq, order }) => order.kind === 'start' && order.host === host && seq < at.seq))
      continue;
    const has = [...held.values()].filter(({ by }) => by === id).length;
    lent += Math.max(0, (story.allocation.resources.scalars[ADDRESSES] ?? 0) - has);
  }
  return lent;
}
