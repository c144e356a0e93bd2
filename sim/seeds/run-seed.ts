import type { Violation } from '../checkers/violations.ts';
import type { Failure } from '../shrink/shrink.ts';
import type { WorkDone, WorldOptions } from '../world/options.ts';
import { runWorld } from '../world/run-world.ts';

/** How the runs of many seeds are set up; plain data, so that it can be handed to another thread. */
export type SeedSetting = Pick<WorldOptions, 'scenario' | 'faults' | 'faultPlan'>;

/** What became of one seed, small enough to be handed over. */
export interface SeedReport {
  readonly seed: number;
  readonly events: number;
  readonly traceHash: string;
  readonly work: WorkDone;
  readonly faults: number;
  /** The first ones. */
  readonly violations: readonly Violation[];
  /** What a role or the world itself threw; null: nothing. */
  readonly thrown: string | null;
  /** Why the run proves nothing; empty when it does. */
  readonly tooLittle: readonly string[];
}

/** More than one of a kind seldom says more. */
const VIOLATIONS_TOLD = 5;

export async function runSeed(seed: number, setting: SeedSetting): Promise<SeedReport> {
  try {
    const run = await runWorld({ seed, ...setting });
    const { events, traceHash, work, faultPlan, violations, report } = run;
    return {
      ...{ seed, events, traceHash, work, thrown: null, faults: faultPlan.length },
      violations: violations.slice(0, VIOLATIONS_TOLD),
      tooLittle: report?.tooLittle ?? [],
    };
  } catch (error) {
    const thrown = error instanceof Error ? (error.stack ?? error.message) : 'something that is no error';
    return {
      ...{ seed, events: 0, traceHash: '', work: NO_WORK, thrown, faults: 0 },
      ...{ violations: [], tooLittle: [] },
    };
  }
}

const NO_WORK: WorkDone = {
  ...{ submitted: 0, acknowledged: 0, committed: 0, started: 0, ended: 0, outcomes: 0 },
};

/** How the seed failed; null when it did not. A run in which too little happened fails: its silence proves nothing. */
export function failureIn({ violations, thrown, tooLittle }: SeedReport): Failure | null {
  if (thrown !== null) return { invariant: 'threw', text: thrown };
  const [first] = violations;
  if (first !== undefined) return { invariant: first.invariant, text: first.detail };
  return tooLittle.length === 0 ? null : { invariant: 'too-little', text: tooLittle.join(', ') };
}
