import { StoreError } from '../../src/ports/cell-store.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { SchedulerStats } from '../state/stats.ts';
import type { Term } from '../state/state.ts';
import type { ScratchCell } from './scratch-cell.ts';

/**
 * The term on a scratch copy of its cell: what decides with it reads the store and the hosts as ever, and can neither
 * write, commit nor tell anybody.
 */
export function scratchTerm(term: Term, cell: ScratchCell): Term {
  return {
    ...{ world: { ...term.world, store: readOnly(term.world.store) }, cell, options: term.options },
    ...{ signal: term.signal, incarnation: term.incarnation, pauses: term.pauses },
    ...{ hosts: term.hosts, hostCalls: term.hostCalls, stats: new SchedulerStats(), events: term.events },
    partition: term.partition,
    commit: () => Promise.reject(notWritten()),
    dropEntry: (job, entry) => job.entries.delete(entry.allocation.id),
    ...{ enqueue: ignore, enqueueAfter: ignore, reload: ignore, ownershipLost: ignore },
    ...{
      capacityFreed: ignore,
      searchElsewhere: ignore,
      report: ignore,
      victimMarked: ignore,
      victimChanged: ignore,
      emit: ignore,
    },
  };
}

function ignore(): void {
  // Nothing follows: the plan looks at the job again by itself.
}

function readOnly(store: CellStore): CellStore {
  const denied = (): Promise<never> => Promise.reject(notWritten());
  return {
    limits: store.limits,
    read: (keys) => store.read(keys),
    list: (prefix, atRevision) => store.list(prefix, atRevision),
    listMany: (prefixes) => store.listMany(prefixes),
    follow: (prefix, follower) => store.follow(prefix, follower),
    history: (prefix, fromRevision) => store.history(prefix, fromRevision),
    oldestRevision: () => store.oldestRevision(),
    ...{ attempt: denied, openSession: denied, close: denied },
  };
}

function notWritten(): StoreError {
  return new StoreError('denied', 'a plan writes nothing', { retryable: false });
}
