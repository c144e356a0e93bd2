/**
 * What a failing run needs in order to fail: faults and requests are left out of its plan as long as it fails in the same way.
 *
 * - `reduce.ts`: delta debugging, which finds the smallest list that still fails
 * - `timeline.ts`: a run as text, with the evidence of each violation marked; `lines.ts`: each recorded fact in words
 */
import type { Failure } from '../world/failure.ts';
import { failureOf } from '../world/failure.ts';
import type { WorldOptions } from '../world/options.ts';
import type { WorldPlan } from '../world/plan.ts';
import { planOf } from '../world/plan.ts';
import { reduce } from './reduce.ts';

/** Runs of a shrinking; each is a tenth of a second or less, and the last of them change hardly anything. */
const TRIES_MAX = 400;

export interface Shrunk {
  /** The least that still fails: its `faultPlan` and `requests` are all that there is. */
  readonly options: WorldOptions;
  readonly failure: Failure;
  /** Runs that it took. */
  readonly tries: number;
}

/**
 * Leaves out of a failing run what it does not need to fail in the same way: faults of its plan, then requests of its
 * clients, then faults again. Of a run in which too little happened only faults: with fewer requests less happens in any.
 *
 * @returns null when the run does not fail
 */
export async function shrink(options: WorldOptions): Promise<Shrunk | null> {
  let tries = 0;
  const failing = async (plan: WorldPlan): Promise<Failure | null> => {
    tries += 1;
    return failureOf({ ...options, faultPlan: plan.faults, requests: plan.requests });
  };
  let { faults, requests } = planOf(options);
  const failure = await failing({ faults, requests });
  if (failure === null) return null;
  const fails = async (plan: WorldPlan): Promise<boolean> =>
    (await failing(plan))?.invariant === failure.invariant;
  faults = await reduce(faults, (some) => fails({ faults: some, requests }), TRIES_MAX / 2);
  if (failure.invariant !== 'too-little')
    requests = await reduce(requests, (some) => fails({ faults, requests: some }), TRIES_MAX / 4);
  faults = await reduce(faults, (some) => fails({ faults: some, requests }), TRIES_MAX / 4);
  return { options: { ...options, faultPlan: faults, requests }, failure, tries };
}
