import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { capacityOf, partsOfPool } from '../../../src/core/quota/shared-resource.ts';
import { claimOfPool, isVolumePool } from '../../../src/core/quota/volume-claims.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I1 and I3 for shared resources: a pool's record is the sum of what the allocations in the cell take of it (also preempted ones: they
 * run until their release), and no commit takes more than its capacity. An operator may lower a capacity below what is taken.
 */
export class PoolChecker {
  readonly #sums = new Map<string, number>();

  check(step: Step, cell: CellAt, findings: Findings): void {
    const touched = new Set(step.changed.pools.map(({ name }) => name));
    const grown = new Set<string>();
    for (const { before, after } of step.changed.allocations) {
      for (const pool of this.#add(before, -1)) touched.add(pool);
      for (const pool of this.#add(after, 1)) {
        touched.add(pool);
        if (before === undefined) grown.add(pool);
      }
    }
    for (const pool of touched) {
      const sum = this.#sums.get(pool) ?? 0;
      const says = cell.pools.get(pool)?.used ?? 0;
      if (says !== sum)
        findings.add(
          'I3',
          step.revision,
          pool,
          `the pool's record says ${String(says)}, the allocations ${String(sum)}`,
        );
      if (grown.has(pool) && !step.initial) checkCapacity(step.revision, pool, sum, cell, findings);
    }
  }

  #add(allocation: Allocation | undefined, sign: 1 | -1): readonly string[] {
    const pools = Object.entries(allocation?.shared ?? {});
    for (const [pool, amount] of pools) this.#sums.set(pool, (this.#sums.get(pool) ?? 0) + sign * amount);
    return pools.map(([pool]) => pool);
  }
}

function checkCapacity(revision: number, pool: string, sum: number, cell: CellAt, findings: Findings): void {
  if (isVolumePool(pool)) return checkHolders(revision, pool, cell, findings);
  const { resource, value } = partsOfPool(pool);
  const known = cell.shared.get(resource);
  const capacity = known === undefined ? 0 : capacityOf(known, value);
  if (sum > capacity) findings.add('I1', revision, pool, `${String(sum)} given away of ${String(capacity)}`);
}

/** Data never has a second holder that it is not shared with, nor a holder where it does not lie. */
function checkHolders(revision: number, pool: string, cell: CellAt, findings: Findings): void {
  const { namespace, claim } = claimOfPool(pool) ?? { namespace: '', claim: '' };
  const binding = cell.pools.get(pool)?.volume;
  const holders: Allocation[] = [];
  for (const one of cell.allocations.values())
    if (
      one.namespace === namespace &&
      one.volumes?.some((use) => use.claim === claim && use.id === binding?.id) === true
    )
      holders.push(one);
  if (binding?.access === 'exclusive' && holders.length > 1)
    findings.add('I1', revision, pool, `${String(holders.length)} allocations have it, and it is not shared`);
  // A driver brings it to every host that shares it.
  const isEverywhere = binding?.driver !== undefined && binding.access === 'shared';
  const away = isEverywhere ? undefined : holders.find(({ host }) => host !== binding?.host);
  if (away !== undefined)
    findings.add(
      'I1',
      revision,
      pool,
      `${away.id} has it on ${away.host}, and it lies on ${binding?.host ?? ''}`,
    );
}
