import type { Allocation } from '../cell/allocation.ts';
import type { Claim } from '../cell/claim.ts';
import type { IntentRef, Retained } from '../cell/intent.ts';
import type { Eviction } from './plan.ts';
import { NO_PORTS } from '../fit/port-choice.ts';
import type { GpuShare, Resources } from '../cell/resources.ts';
import { isZero, NO_RESOURCES, NO_SCALARS } from '../cell/resources.ts';

/**
 * Operations that the way back of one host may take: it goes in one transaction, and what the store took when the members
 * were reserved it need not take any more when they are to go. So many every store takes (etcd unless told otherwise).
 */
export const REVERT_OPERATIONS_MAX = 128;

/** The victim's record as the eviction leaves it. */
export function evictedBy({ victim, cause, yields }: Eviction): Allocation {
  return { ...victim, desired: 'evict', cause, ...(yields === undefined ? null : { yields }) };
}

/** The record of one that yielded, as it was before. */
export function reverted(victim: Allocation): Allocation {
  const { yields: _yields, cause: _cause, ...before } = victim;
  return { ...before, desired: 'run' };
}

/** What one that gives way still has of its use, as a claim; null: nothing. Its ports are its own in any case. */
export function retainedBy(allocation: Allocation): Claim | null {
  const { yields } = allocation;
  if (yields === undefined || (isZero(yields.keeps.resources) && yields.keeps.gpus.length === 0)) return null;
  const { id, host, precedence } = allocation;
  return { id, host, precedence, ...yields.keeps, ports: NO_PORTS };
}

/**
 * The evictions for members of a gang by intent: each of them may be taken back.
 * @param members of all hosts; only those that name in `evicts` who gives way take the victims' places
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

/** What the members on one host take of what their victims give, one victim after the other. */
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

  /** What is left of the victim's use when the members have taken theirs. */
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

/** @returns what of the amount is more than what there was */
function takeFrom<K>(left: Map<K, number>, key: K, amount: number): number {
  const taken = Math.min(amount, left.get(key) ?? 0);
  left.set(key, (left.get(key) ?? 0) - taken);
  return amount - taken;
}

/**
 * Who lets whom be found again: the first of the members on each host that take victims' places names the victims, so that
 * whoever ends the intent can take their marks back.
 * @returns by member, `namespace/job/id` of each victim on its host
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
