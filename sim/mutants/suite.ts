import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { seededRandom } from '../../src/core/seeded-random.ts';
import { cellKeys } from '../../src/core/keys.ts';
import type { RunReport } from '../checkers/check-run.ts';
import { checkRun } from '../checkers/check-run.ts';
import { CELL } from '../world/control-roles.ts';
import type { FaultSettings, KillAt, WorldResult } from '../world/options.ts';
import { runWorld } from '../world/run-world.ts';
import { SMALL_CELL } from '../world/scenario.ts';

export interface SuiteRun {
  readonly world: WorldResult;
  readonly report: RunReport;
}

/** One run of the suite: its faults and its crash are drawn from the seed, as everything else. */
export async function suiteRun(seed: number): Promise<SuiteRun> {
  const random = seededRandom(seed).split('suite');
  const killAt: KillAt = {
    actor:
      ['host-1', 'host-2', 'batch-1', 'batch-2', 'service-1', 'monitor-1', 'arbiter-1'][random.below(7)] ??
      '',
    eventIndex: 200 + random.below(3000),
    downMs: 200 + random.below(12_000),
  };
  const world = await runWorld({ seed, scenario: SMALL_CELL, faults: faultsOf(random), killAt });
  const report = checkRun(world.history, {
    keys: cellKeys(CELL),
    enforcement: SMALL_CELL.enforcement,
    digest: sha256Hex,
    liveness: null,
    least: {},
  });
  return { world, report };
}

function faultsOf(random: ReturnType<typeof seededRandom>): FaultSettings {
  const wild = random.below(3);
  if (wild === 0) return {};
  const p = wild === 1 ? 0.02 : 0.08;
  return {
    network: { loss: p / 2, double: p, delayMaxMs: 200 * wild },
    store: {
      requestLost: p,
      replyLost: p,
      late: p,
      readFails: p / 2,
      watchLags: 0.2,
      watchLagMs: 500 * wild,
      watchBreaks: p / 2,
      leaseLateMs: 3_000,
    },
  };
}
