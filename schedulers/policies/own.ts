import { isId, ID_RULE } from '../../src/core/cell/ids.ts';
import type { PlacementPolicy, ScoreHost } from '../../src/core/scoring/policy.ts';

/** How somebody else than us chooses among the hosts that fit. All else of a scheduler stays: its copy of the cell, its commits. */
export interface OwnPolicy {
  /** Shown in `moorage schedulers`. */
  readonly name: string;
  readonly score: ScoreHost;
  /** How many fitting hosts are scored for one decision, drawn at random; `Infinity`: all. Default 128. */
  readonly sample?: number;
  /** What another allocation of the group on the same host takes off its score. Default 0. */
  readonly sameHostCost?: number;
}

const SAMPLE = 128;

/** @throws Error when its name is none */
export function ownPlacement({
  name,
  score: scoreHost,
  sample = SAMPLE,
  sameHostCost = 0,
}: OwnPolicy): PlacementPolicy {
  if (!isId(name)) throw new Error(`the policy's name ${JSON.stringify(name)}: ${ID_RULE}`);
  // What there is to choose besides, such as one of several devices, is chosen as for batch work.
  return { name, score: 'binpack', sample, sameHostCost, scoreHost };
}
