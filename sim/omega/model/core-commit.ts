import type { Allocation } from '../../../src/core/cell/allocation.ts';
import type { FoundRevisions, SentRevisions, Conflicts } from '../../../src/core/commit/conflicts.ts';
import type { Unit } from '../../../src/core/commit/commit.ts';
import { conflictsIn, prune } from '../../../src/core/commit/conflicts.ts';
import { unitsOf } from '../../../src/core/commit/commit.ts';
import type { Atomicity, ConflictCheck } from '../../../src/core/commit/plan.ts';
import { PoolBook } from '../../../src/core/quota/pool-book.ts';
import type { GpuShare } from '../../../src/core/cell/resources.ts';
import { NO_SCALARS } from '../../../src/core/cell/resources.ts';
import { TransactionDraft } from '../../../src/core/commit/transaction-draft.ts';
import type { SimJob } from '../workload/workload.ts';
import type { Placed } from './placer.ts';
import type { PrivateCopy } from './private-copy.ts';
import { NO_DEVICES } from './free-capacity.ts';
import { PRECEDENCE, type SharedCell } from './shared-cell.ts';

/** The paper's hosts share nothing. */
const NO_POOLS = new PoolBook();
const NO_SHARED = { poolRevision: () => 0, resourceRevision: () => 0, hasQuota: () => false };

/** What a transaction made durable. */
export interface Landed {
  readonly hosts: Int32Array;
  /** null: the job wants no devices. */
  readonly devices: readonly (readonly GpuShare[])[] | null;
  /** Tasks that were not committed, because another scheduler's commit came first. */
  readonly conflicts: number;
  /** Tasks that landed although their host's ledger had moved. */
  readonly rebased: number;
}

export interface CommitOptions {
  readonly conflictCheck: ConflictCheck;
  /**
   * true: every host of a plan is judged by the rules of `src/core`. false: only those whose revision moved, as in the
   * store, where a compare that holds is asked no further. Both give the same.
   */
  readonly judgeAll: boolean;
}

/**
 * Commits what was decided on a private copy to the shared cell: the compare of each host's revision as the store makes
 * it, and what happens after a refusal (`conflictsIn`, `prune`, the fit rule of `TransactionDraft`) as the committer makes it. Tasks of one
 * job on one host are committed or refused together, as in the cell.
 */
export class CoreCommit {
  readonly #cell: SharedCell;
  readonly #version: boolean;
  readonly #judgeAll: boolean;

  constructor(cell: SharedCell, { conflictCheck, judgeAll }: CommitOptions) {
    this.#cell = cell;
    this.#version = conflictCheck === 'version';
    this.#judgeAll = judgeAll;
  }

  commit(seen: PrivateCopy, placed: Placed, job: SimJob, atomicity: Atomicity): Landed {
    const moved = this.#moved(seen, placed);
    const asked = this.#judgeAll || (moved.length > 0 && atomicity === 'all-or-nothing');
    const toJudge = asked ? Array.from({ length: placed.count }, (_, task) => task) : moved;
    const refused = toJudge.length === 0 ? NOBODY : this.#judge(seen, placed, job, toJudge, atomicity);
    const kept = refused.size === 0 ? placed : without(placed, refused);
    const hosts = kept.hosts.slice(0, kept.count);
    for (let task = 0; task < kept.count; task++)
      this.#cell.claim(hosts[task]!, job.shape, kept.devices?.[task] ?? NO_DEVICES);
    const rebased = moved.reduce((sum, task) => sum + (refused.has(task) ? 0 : 1), 0);
    return { hosts, devices: kept.devices, conflicts: refused.size, rebased };
  }

  /** Tasks on hosts whose compare fails. */
  #moved(seen: PrivateCopy, { count, hosts }: Placed): number[] {
    const moved: number[] = [];
    const now = this.#cell.revision;
    for (let task = 0; task < count; task++) {
      const host = hosts[task]!;
      if (seen.revision[host] !== now[host]) moved.push(task);
    }
    return moved;
  }

  #judge(
    seen: PrivateCopy,
    placed: Placed,
    job: SimJob,
    tasks: readonly number[],
    atomicity: Atomicity,
  ): ReadonlySet<number> {
    const places = tasks.map((task) => allocationOf(job, placed, task));
    const units = unitsOf({ id: '', atomicity, places, evictions: [], releases: [] }, Infinity);
    const draft = new TransactionDraft(
      {
        ledgerOf: (host) => this.#cell.ledgerOf(Number(host)),
        hostOf: (id) => this.#cell.hosts[Number(id)],
        ownerRevisionOf: () => OWNER_REVISION,
        intentRevisionOf: () => undefined,
        pools: NO_POOLS,
      },
      Infinity,
    );
    const sent: SentRevisions = {
      ledgerRevision: (host) => seen.revision[Number(host)]!,
      ownerRevision: () => OWNER_REVISION,
      intentRevision: () => undefined,
      ...NO_SHARED,
    };
    const found: FoundRevisions = {
      ledgerRevision: (host) => this.#cell.revision[Number(host)]!,
      ownerRevision: () => OWNER_REVISION,
      allocationRevision: () => 0,
      intentRevision: () => 0,
      eligibilityRevision: () => 0,
      ...NO_SHARED,
    };
    const refused = new Set<number>();
    for (const unit of units) this.#settle(unit, sent, found, draft, refused);
    return refused;
  }

  #settle(
    unit: Unit,
    sent: SentRevisions,
    found: FoundRevisions,
    draft: TransactionDraft,
    refused: Set<number>,
  ): void {
    let rest: Unit | null = unit;
    let conflicts: Conflicts = conflictsIn(unit, sent, found, this.#version).conflicts;
    for (;;) {
      const pruned = prune(rest, conflicts);
      for (const id of pruned.refused.keys()) refused.add(Number(id));
      rest = pruned.rest;
      if (rest === null) return;
      const added = draft.add(rest);
      if (added === 'added') return;
      if (typeof added === 'string') throw new Error(`a draft without bounds answered ${added}`);
      conflicts = added.conflicts;
    }
  }
}

const NOBODY: ReadonlySet<number> = new Set();
/** Every scheduler owns the jobs that it works on, all along. */
const OWNER_REVISION = 1;
const NO_PORTS = {};
const EPOCH = { incarnation: '', counter: 0 };

/** The allocation of one task; its number within the plan is its id. */
function allocationOf(job: SimJob, placed: Placed, task: number): Allocation {
  const { cpuMilli, memoryMib } = job.shape;
  return {
    id: String(task),
    host: String(placed.hosts[task]),
    precedence: PRECEDENCE,
    resources: { cpuMilli, memoryMib, diskMib: 0, scalars: NO_SCALARS },
    gpus: placed.devices?.[task] ?? NO_DEVICES,
    ports: NO_PORTS,
    namespace: job.work,
    job: String(job.id),
    jobVersion: 1,
    group: 'task',
    index: task,
    attempt: 1,
    scheduler: job.work,
    desired: 'run',
    planId: '',
    epoch: EPOCH,
    createdAtMs: 0,
  };
}

function without(placed: Placed, refused: ReadonlySet<number>): Placed {
  const hosts = new Int32Array(placed.count - refused.size);
  const devices: (readonly GpuShare[])[] = [];
  let count = 0;
  for (let task = 0; task < placed.count; task++) {
    if (refused.has(task)) continue;
    hosts[count++] = placed.hosts[task]!;
    if (placed.devices !== null) devices.push(placed.devices[task] ?? NO_DEVICES);
  }
  return { count, hosts, devices: placed.devices === null ? null : devices };
}
