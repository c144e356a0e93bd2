import type { WarmUpTime } from '../../schedulers/main.ts';
import { runScheduler } from '../../schedulers/main.ts';
import type { SchedulerSettings } from '../../schedulers/policies/options.ts';
import { SCORE_POLICIES } from '../../schedulers/policies/options.ts';
import type { Atomicity, ConflictCheck } from '../../src/core/commit/plan.ts';
import type { ElasticPolicy, SchedulerKind } from '../../src/core/cell/job.ts';
import type { ElasticRule } from '../../src/core/elastic/elastic.ts';
import { DEFAULT_ELASTIC } from '../../src/core/elastic/elastic.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';
import type { RoleFlags } from './options.ts';
import { readAmount, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface SchedulerFlags extends RoleFlags {
  readonly kind: SchedulerKind;
  readonly score?: string;
  readonly conflictCheck?: ConflictCheck;
  readonly atomicity?: Atomicity;
  readonly inFlight?: number;
  readonly slice?: number;
  readonly elasticPolicy?: ElasticPolicy;
  readonly elasticCap?: number;
  readonly elasticFactor?: number;
  readonly thinkJob?: string;
  readonly thinkTask?: string;
  readonly tickets: boolean;
  readonly sessionTtl?: string;
  readonly orphanAfter?: string;
  readonly outcomesPerSlot?: number | null;
  readonly rehearse: WarmUpTime;
}

export function serveScheduler(context: Context, flags: SchedulerFlags): Promise<number> {
  const basics = roleBasics(flags, 'scheduler');
  const settings: SchedulerSettings = {
    id: basics.id,
    kind: flags.kind,
    version: basics.version,
    enforcement: flags.tickets,
    elastic: elasticRule(flags),
    ...given('score', score(flags.score)),
    ...given('conflictCheck', flags.conflictCheck),
    ...given('atomicity', flags.atomicity),
    ...given('inFlightMax', flags.inFlight),
    ...given('sliceMax', flags.slice),
    ...given('thinkMs', thinkMs(flags)),
    ...given('outcomesPerSlot', flags.outcomesPerSlot),
    ...given('orphanMs', duration('--orphan-after', flags.orphanAfter)),
    ...given('sessionTtlMs', duration('--session-ttl', flags.sessionTtl)),
  };
  const { rehearse } = flags;
  return serveRole(context, basics, {
    start: () => runScheduler({ ...basics, ...settings, warmUp: rehearse }),
  });
}

/** @throws CliError when the kind grows nothing, so that the flags would say nothing */
function elasticRule({ kind, elasticPolicy, elasticCap, elasticFactor }: SchedulerFlags): ElasticRule {
  const rule = {
    ...DEFAULT_ELASTIC,
    ...given('policy', elasticPolicy),
    ...given('capPercent', elasticCap),
    ...given('factor', elasticFactor),
  };
  if (kind !== 'elastic' && (elasticPolicy ?? elasticCap ?? elasticFactor) !== undefined)
    throw usageError(
      `a scheduler of kind ${kind} grows no jobs: --elastic-policy, --elastic-cap and --elastic-factor need --kind elastic`,
      'moorage scheduler --help',
    );
  return rule;
}

function thinkMs({ thinkJob, thinkTask }: SchedulerFlags): SchedulerSettings['thinkMs'] {
  if (thinkJob === undefined && thinkTask === undefined) return undefined;
  return { job: duration('--think-job', thinkJob) ?? 0, task: duration('--think-task', thinkTask) ?? 0 };
}

function score(name: string | undefined): string | undefined {
  if (name === undefined || SCORE_POLICIES.includes(name)) return name;
  throw usageError(
    `--score ${name}: there is no such policy; there are ${SCORE_POLICIES.join(', ')}`,
    'moorage scheduler --help',
  );
}

function duration(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : readAmount(flag, text, readDuration, 'scheduler');
}

function given<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>);
}
