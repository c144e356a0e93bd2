import type { Allocation } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import type { IntentRef, Retained } from '../cell/intent.ts';
import type { Eviction } from './plan.ts';
import { NO_PORTS } from '../fit/port-choice.ts';
import type { GpuShare, Resources } from '../cell/resources.ts';
import { isZero, NO_RESOURCES, NO_SCALARS } from '../cell/resources.ts';

/**
 * How a gang that is committed in several transactions preempts. A victim is marked `evict` in the transaction that
 * reserves the members on its host, and runs on while the intent is open (`PendingPreemption` in intent.ts). What the
 * members do not take of its use stays in the ledger under its own precedence, so that the mark can be reverted.
 * `docs/decisions/gangs.md`
 */

/**
 * Operations that the revert of one host may take. It goes in one transaction, and by then another member of the etcd
 * cluster may accept fewer than when the members were reserved: so many is etcd's default.
 */
export const REVERT_OPERATIONS_MAX = 128;

/** The victim's record as the eviction leaves it. */
export function evictedBy({ victim, cause, yields }: Eviction): Allocation {
  return { ...victim, desired: 'evict', cause, ...(yields === undefined ? null : { yields }) };
}

/** The victim's record without the mark. */
export function reverted(victim: Allocation): Allocation {
  const { yields: _yields, cause: _cause, ...before } = victim;
  return { ...before, desired: 'run' };
}

/** What a victim retains of its use, as a claim; null: nothing. Its ports are not in it: it holds them in any case. */
export function retainedBy(allocation: Allocation): Claim | null {
  const { yields } = allocation;
  if (yields === undefined || (isZero(yields.keeps.resources) && yields.keeps.gpus.length === 0)) return null;
  const { id, host, precedence } = allocation;
  return { id, host, precedence, ...yields.keeps, ports: NO_PORTS };
}

/**
 * The evictions for members of a gang, each with what its victim retains.
 * @param members of all hosts; only those with `evicts` take victims' places
 */
export function pendingEvictions(
  members: readonly Allocation[],
  evictions: readonly Eviction[],
  intent: IntentRef,
): Eviction[] {
  const taking = byHost(members.filter(({ evicts }) => evicts !== undefined));
  const result: Eviction[] = [];
  for (const [host, some] of byHost(
    evictions.map((eviction) => ({ ...eviction, host: eviction.victim.host })),
  )) {
    const taken = new Taken(taking.get(host) ?? []);
    for (const { host: _host, ...eviction } of some)
      result.push({ ...eviction, yields: { intent, keeps: taken.leaves(eviction.victim) } });
  }
  return result;
}

/** Divides what the members on one host take among their victims, one after the other. */
class Taken {
  readonly #left: Record<'cpuMilli' | 'memoryMib' | 'diskMib', number>;
  readonly #scalars = new Map<string, number>();
  readonly #gpuMilli = new Map<number, number>();

  constructor(members: readonly Claim[]) {
    const left = { cpuMilli: 0, memoryMib: 0, diskMib: 0 };
    for (const { resources, gpus } of members) {
      left.cpuMilli += resources.cpuMilli;
      left.memoryMib += resources.memoryMib;
      left.diskMib += resources.diskMib;
      for (const name in resources.scalars)
        this.#scalars.set(name, (this.#scalars.get(name) ?? 0) + (resources.scalars[name] as number));
      for (const { device, milli } of gpus)
        this.#gpuMilli.set(device, (this.#gpuMilli.get(device) ?? 0) + milli);
    }
    this.#left = left;
  }

  /** What the members leave of the victim's use. */
  leaves({ resources, gpus }: Claim): Retained {
    const kept: Resources = {
      cpuMilli: this.#take('cpuMilli', resources.cpuMilli),
      memoryMib: this.#take('memoryMib', resources.memoryMib),
      diskMib: this.#take('diskMib', resources.diskMib),
      scalars: this.#leftScalars(resources.scalars),
    };
    const shares: GpuShare[] = [];
    for (const { device, milli } of gpus) {
      const rest = takeFrom(this.#gpuMilli, device, milli);
      if (rest > 0) shares.push({ device, milli: rest });
    }
    return { resources: isZero(kept) ? NO_RESOURCES : kept, gpus: shares };
  }

  #take(name: 'cpuMilli' | 'memoryMib' | 'diskMib', amount: number): number {
    const taken = Math.min(amount, this.#left[name]);
    this.#left[name] -= taken;
    return amount - taken;
  }

  #leftScalars(scalars: Resources['scalars']): Resources['scalars'] {
    const left: Record<string, number> = {};
    for (const name in scalars) {
      const rest = takeFrom(this.#scalars, name, scalars[name] as number);
      if (rest > 0) left[name] = rest;
    }
    return Object.keys(left).length === 0 ? NO_SCALARS : left;
  }
}

/** @returns the part of the amount that was not there */
function takeFrom<K>(left: Map<K, number>, key: K, amount: number): number {
  const taken = Math.min(amount, left.get(key) ?? 0);
  left.set(key, (left.get(key) ?? 0) - taken);
  return amount - taken;
}

/**
 * The first member on each host that takes victims' places names them (`Allocation.displaces`), so that the process that
 * ends the intent finds the marks to revert.
 * @returns by member id, `namespace/job/id` of each victim on its host
 */
export function displacedBy(
  members: readonly Allocation[],
  evictions: readonly Eviction[],
): ReadonlyMap<string, readonly string[]> {
  const victims = byHost(evictions.map(({ victim }) => victim));
  const result = new Map<string, readonly string[]>();
  for (const [host, [first]] of byHost(members.filter(({ evicts }) => evicts !== undefined))) {
    const some = victims.get(host);
    if (first !== undefined && some !== undefined)
      result.set(
        first.id,
        some.map(({ namespace, job, id }) => `${namespace}/${job}/${id}`),
      );
  }
  return result;
}

function byHost<T extends { readonly host: string }>(list: readonly T[]): Map<string, T[]> {
  const result = new Map<string, T[]>();
  for (const one of list) {
    const some = result.get(one.host);
    if (some === undefined) result.set(one.host, [one]);
    else some.push(one);
  }
  return result;
}
