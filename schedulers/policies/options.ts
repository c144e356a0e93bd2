import { ORPHAN_MS } from '../../src/core/slots/given-up.ts';
import { OUTCOMES_PER_SLOT_MAX } from '../../src/core/slots/outcomes.ts';
import type { ElasticRule } from '../../src/core/elastic/elastic.ts';
import { DEFAULT_ELASTIC } from '../../src/core/elastic/elastic.ts';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import { keepGpusWholeFor, LearnedMix } from '../../src/core/scoring/learned-mix.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import { BINPACK, LEVEL, RANDOM_FIT, SERVICE } from '../../src/core/scoring/policy.ts';
import type { Atomicity, ConflictCheck } from '../../src/core/commit/plan.ts';
import { batchPolicy } from './batch.ts';
import { elasticPolicy } from './elastic.ts';
import type { OwnPolicy } from './own.ts';
import { ownPlacement } from './own.ts';
import { servicePolicy } from './service.ts';
import { systemPolicy } from './system.ts';
import type { SchedulerPolicy } from './policies.ts';

/** The settings of a scheduler; all but `id` and `kind` have a default. */
export interface SchedulerSettings {
  readonly id: string;
  readonly kind: SchedulerKind;
  readonly conflictCheck?: ConflictCheck;
  /** For all jobs; gang groups are all-or-nothing in any case. */
  readonly atomicity?: Atomicity;
  /** Transactions under way at once: more than 16 only add waiting. */
  readonly inFlightMax?: number;
  readonly sliceMax?: number;
  /** Gangs with more members are committed by intent; without it, those that one transaction of the store cannot hold. */
  readonly gangMax?: number;
  /** With so many placements and jobs that wait to be decided or committed it is busy: starts wait, and their tickets with them. */
  readonly busyBacklog?: number;
  /** Name of a score policy: `binpack`, `service`, `level`, `random-fit`, `fgd`; without it the kind's own. */
  readonly score?: string;
  /** A policy of somebody's own, instead of a score policy. */
  readonly policy?: OwnPolicy;
  /** How far a scheduler of kind `elastic` grows a job; the others ignore it. */
  readonly elastic?: ElasticRule;
  /** Omega's model of a decision's time, for studies: a decision takes this long before it is committed. */
  readonly thinkMs?: { readonly job: number; readonly task: number };
  /** Ask arbiters for tickets. Off: hosts must not demand them either (S4.19). */
  readonly enforcement?: boolean;
  /** After this silence the scheduler's jobs are taken over. */
  readonly sessionTtlMs?: number;
  /** How long what is to end on a lost host is kept before it is given up. */
  readonly orphanMs?: number;
  /** null: keep all. */
  readonly outcomesPerSlot?: number | null;
  readonly version?: string;
}

/** The settings with all defaults filled in. */
export interface SchedulerOptions extends Required<
  Omit<SchedulerSettings, 'gangMax' | 'score' | 'policy' | 'thinkMs'>
> {
  /** null: as many as one transaction of the store holds. */
  readonly gangMax: number | null;
  readonly thinkMs: { readonly job: number; readonly task: number } | null;
  readonly placement: PlacementPolicy;
  /** The mix of tasks that the placement policy expects, where it learns that from the scheduler's jobs. */
  readonly learnedMix: LearnedMix | null;
}

const POLICIES: Readonly<Record<SchedulerKind, SchedulerPolicy>> = {
  batch: batchPolicy,
  service: servicePolicy,
  system: systemPolicy,
  elastic: elasticPolicy,
};

const FIXED_POLICIES: readonly PlacementPolicy[] = [BINPACK, SERVICE, LEVEL, RANDOM_FIT];
const LEARNING_POLICY = 'fgd';
/** Names that `score` may have. */
export const SCORE_POLICIES: readonly string[] = [...FIXED_POLICIES.map(({ name }) => name), LEARNING_POLICY];

const DEFAULTS = {
  conflictCheck: 'resource-fit',
  atomicity: 'incremental',
  inFlightMax: 8,
  gangMax: null,
  // A decision and its commit are a few tens of microseconds.
  busyBacklog: 64,
  thinkMs: null,
  elastic: DEFAULT_ELASTIC,
  enforcement: true,
  sessionTtlMs: 10_000,
  orphanMs: ORPHAN_MS,
  outcomesPerSlot: OUTCOMES_PER_SLOT_MAX,
  version: '0',
} as const;

/** @throws when the score policy's name is unknown, or that of an own policy is none */
export function compileOptions({ score, policy, ...settings }: SchedulerSettings): SchedulerOptions {
  const { sliceMax, placement } = POLICIES[settings.kind];
  const learnedMix = score === LEARNING_POLICY ? new LearnedMix() : null;
  const chosen = policy === undefined ? (placementOf(score, learnedMix) ?? placement) : ownPlacement(policy);
  return { ...DEFAULTS, sliceMax, ...settings, placement: chosen, learnedMix };
}

function placementOf(name: string | undefined, learned: LearnedMix | null): PlacementPolicy | null {
  if (name === undefined) return null;
  if (learned !== null) return keepGpusWholeFor(learned);
  const policy = FIXED_POLICIES.find((known) => known.name === name);
  if (policy !== undefined) return policy;
  throw new Error(`there is no score policy ${name}; there are ${SCORE_POLICIES.join(', ')}`);
}

/** What a scheduler's role record says: the kind first, up to a dash, since only schedulers of one kind share jobs. */
export function policyText(options: SchedulerOptions): string {
  return `${options.kind}-${options.placement.name}`;
}

export function kindOfPolicyText(policy: string): string {
  return policy.split('-')[0] ?? '';
}
