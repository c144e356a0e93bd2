import type { Ended } from '../world/failure.ts';
import type { WorldOptions } from '../world/options.ts';
import { runWorld } from '../world/run-world.ts';

/** What became of one seed, small enough to be handed over; of its violations the first ones. */
export interface SeedReport extends Ended {
  readonly seed: number;
  readonly events: number;
  readonly traceHash: string;
  /** Processes of tasks. */
  readonly started: number;
  readonly faults: number;
}

/** Further violations of a run seldom add anything. */
const VIOLATIONS_TOLD = 5;

export async function runSeed(options: WorldOptions): Promise<SeedReport> {
  const { seed } = options;
  try {
    const run = await runWorld(options);
    const { events, traceHash, work, faultPlan, violations, report } = run;
    return {
      ...{ seed, events, traceHash, started: work.started, thrown: null, faults: faultPlan.length },
      violations: violations.slice(0, VIOLATIONS_TOLD),
      tooLittle: report?.tooLittle ?? [],
    };
  } catch (error) {
    const thrown = error instanceof Error ? (error.stack ?? error.message) : 'something that is no error';
    return {
      ...{ seed, events: 0, traceHash: '', started: 0, thrown, faults: 0 },
      ...{ violations: [], tooLittle: [] },
    };
  }
}
