import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';

/** How the update to a job's present version stands. */
export interface RolloutState {
  readonly word: 'as submitted' | 'updating' | 'paused' | 'failed' | 'done';
  /** Of the present version; null: its owner recorded nothing yet. */
  readonly record: RolloutRecord | null;
  readonly replaced: number;
  readonly wanted: number;
  readonly isUnderWay: boolean;
  /** Some of the job's groups wait for a word about their canaries. */
  readonly mayPromote: boolean;
}

export function rolloutStateOf({ summary, record, rollout }: JobStatus): RolloutState {
  const known = rollout?.record ?? null;
  const own = known?.version === summary.version ? known : null;
  const outdated = rollout?.outdated ?? 0;
  const isUnderWay = outdated > 0 || own?.state === 'updating';
  const word =
    rollout?.paused === true ? 'paused' : (own?.state ?? (isUnderWay ? 'updating' : 'as submitted'));
  const wanted = summary.counts.desired;
  const hasCanaries = Object.values(record.job.groups).some(({ update }) => (update?.canary ?? 0) > 0);
  return {
    ...{ word, record: own, isUnderWay, wanted, replaced: Math.max(0, wanted - outdated) },
    mayPromote: isUnderWay && hasCanaries && record.rollout?.promoted !== true,
  };
}
