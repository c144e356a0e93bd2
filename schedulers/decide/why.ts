import type { Fill, Evaluation, Rollout } from '../../src/core/slots/job-view.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Pausable, PauseScope } from '../../src/core/quota/pauses.ts';
import type { BudgetKind } from '../../src/core/quota/budgets.ts';
import type { Fits } from '../../src/core/placement/fits.ts';
import { HELD_STAGE } from '../../src/wire/api/scheduler-api.ts';
import type { Why, WhyGroup } from '../../src/wire/api/scheduler-api.ts';
import { plural } from '../../src/wire/values/words.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { wallMs } from '../state/state.ts';
import type { Decider } from './decide.ts';
import { grownText, minimumText } from './growth.ts';
import type { Placer } from './placer.ts';
import { summaryOf } from './unplaceable.ts';

export interface WhyTerm extends Pick<Term, 'world' | 'options' | 'cell'> {
  readonly decider: Pick<Decider, 'evaluationOf'>;
  readonly placer: Pick<Placer, 'bind' | 'explain' | 'fits'>;
  /** Why it is paused; null: it is not. */
  readonly pauseOf: (what: Pausable, target: PauseScope) => string | null;
  /** Why the job waits for a budget of the cell; null: it does not. */
  readonly budgetWaits: (kind: BudgetKind, job: string) => string | null;
}

/** Why a job has slots that do not run: evaluated anew, not what the last decision remembered. */
export function whyOf(term: WhyTerm, job: OwnedJob): Why {
  const groups = job.undecidable === null ? whyGroups(term, job) : whyUndecidable(term, job, job.undecidable);
  const waiting = groups.find((group) => group.pending > 0);
  const detail = waiting ?? groups.find((group) => group.stage !== 'running') ?? groups[0];
  return {
    namespace: job.namespace,
    job: job.name,
    scheduler: term.options.id,
    summary:
      detail === undefined ? 'the job has no groups' : `${detail.group}: ${detail.stage}: ${detail.detail}`,
    groups,
  };
}

function whyGroups(term: WhyTerm, job: OwnedJob): readonly WhyGroup[] {
  const evaluation = term.decider.evaluationOf(job, wallMs(term.world));
  return Object.keys(job.record.job.groups).map((name) => whyGroup(term, job, name, evaluation));
}

/** What throws in a decision throws in an explanation too: nothing is evaluated. */
function whyUndecidable(term: WhyTerm, job: OwnedJob, detail: string): readonly WhyGroup[] {
  const { clock } = term.world;
  return Object.keys(job.record.job.groups).map((group) => {
    const { tries, conflicts, pending, blockedUntilMs } = job.group(group);
    return {
      ...{ group, pending, tries, conflicts, stage: 'waiting', detail },
      nextTryMs: clock.nowMs() + Math.max(0, blockedUntilMs - clock.monotonicMs()),
      ...{ hosts: [], hostsTotal: term.cell.state.size, refusals: [] },
    };
  });
}

function whyGroup(term: WhyTerm, job: OwnedJob, name: string, evaluation: Evaluation): WhyGroup {
  const group = job.record.job.groups[name];
  if (group === undefined) throw new Error(`job ${job.key} has no group ${name}`);
  const state = job.group(name);
  const fills = evaluation.fills.filter((fill) => fill.group === name);
  const { stage, detail, nextTryMs } = updating(
    evaluation.rollouts.find((rollout) => rollout.group === name),
    stageOf(term, job, name, fills),
  );
  const explained = fills.length > 0 ? term.placer.explain(job, group, fills[0]) : null;
  const isShort = explained !== null && explained.hosts.length > 0;
  // A system job has a slot for each host: nothing is searched.
  // Nor for a slot that goes where its data lies.
  const [first] = term.placer.bind(job, group, fills.slice(0, 1));
  const isSearched = first !== undefined && first.host === undefined && term.cell.state.size > 0;
  const fitting = isSearched ? term.placer.fits(job, group, fills) : null;
  const parked = stage === 'parked' && isShort ? summaryOf(explained) : detail;
  const grown = fills.length === 0 ? grownBy(term, job, group) : '';
  const pause = term.pauseOf('eviction', {});
  const held = heldBack(evaluation, name, (kind) => term.budgetWaits(kind, job.key));
  const noEviction = pause ?? term.budgetWaits('evictions', job.key);
  const kept = noEviction === null || job.record.job.precedence === 0 ? '' : `; no preemption: ${noEviction}`;
  return {
    group: name,
    pending: fills.length,
    tries: state.tries,
    conflicts: state.conflicts,
    nextTryMs,
    stage: held !== '' && stage === 'running' ? HELD_STAGE : stage,
    detail:
      stage === 'parked' && fitting !== null ? shortOf(group, fitting, parked) + kept : parked + grown + held,
    hosts: explained?.hosts ?? [],
    hostsTotal: term.cell.state.size,
    refusals: explained?.refusals ?? [],
    ...(group.gang ? { gang: true } : {}),
    ...(fitting === null ? {} : { fits: fitting }),
  };
}

/** What the checks of single hosts do not tell: a gang needs all at once, and a cell may be too small even when it is empty. */
function shortOf({ gang }: Group, { now, pending, whenEmpty, count }: Fits, parked: string): string {
  if (!gang) return whenEmpty > 0 ? parked : `${parked}; nor when nothing else runs (capacity, not use)`;
  const fit = `${String(now)} of ${String(pending)} fit at once now`;
  if (whenEmpty < count)
    return `this cell can never hold the gang: ${fit}, ${String(whenEmpty)} of ${String(count)} when nothing else runs (capacity, not use)`;
  return now < pending
    ? `${fit}, and a gang starts whole; all ${String(count)} would if nothing else ran`
    : parked;
}

/** Of a group that may have more than its minimum: how far it is, and by what. */
function grownBy({ options, world }: WhyTerm, job: OwnedJob, group: Group): string {
  if (group.countMax === undefined) return '';
  const wanted = [...job.entries.values()].filter(
    ({ allocation }) => allocation.group === group.name && allocation.desired === 'run',
  ).length;
  if (options.kind !== 'elastic') return `; ${minimumText(group, wanted, options.kind)}`;
  const { blockedUntilMs, blockedWhy } = job.group(group.name);
  const blocked = blockedUntilMs > world.clock.monotonicMs() ? `; grows no further: ${blockedWhy}` : '';
  return `; ${grownText(options.elastic, group, wanted)}${blocked}`;
}

/** What the group would do if the cell could afford it, and why it does not: `; 3 replacements: waits for …`. */
function heldBack({ asks }: Evaluation, group: string, waits: (kind: BudgetKind) => string | null): string {
  const ofGroup = asks.filter(({ allocation }) => allocation.group === group);
  const kinds = [...new Set(ofGroup.map(({ kind }) => kind))];
  return kinds
    .map((kind) => {
      const held = ofGroup.filter((ask) => ask.kind === kind).length;
      return `; ${plural(held, kind.slice(0, -'s'.length))}: ${waits(kind) ?? 'in the decision queue'}`;
    })
    .join('');
}

type Stage = Pick<WhyGroup, 'stage' | 'detail' | 'nextTryMs'>;

/** While an update is under way: how far it is, and why the next allocation is not replaced. */
function updating(rollout: Rollout | undefined, now: Stage): Stage {
  if (rollout === undefined) return now;
  const { outdated, version, waitsFor } = rollout;
  const left = `${String(outdated)} still to be replaced by version ${String(version)}`;
  const why = waitsFor === null ? 'the next one is being replaced' : `waits: ${waitsFor}`;
  const isMore = now.stage !== 'running' && now.stage !== 'stopping';
  return { ...now, stage: 'updating', detail: [left, why, ...(isMore ? [now.detail] : [])].join('; ') };
}

function stageOf(term: WhyTerm, job: OwnedJob, name: string, fills: readonly Fill[]): Stage {
  const state = job.group(name);
  const { clock } = term.world;
  const nowMs = clock.nowMs();
  if (fills.length === 0) return stageOfFilled(job, name);
  const pause = term.pauseOf('placement', { namespace: job.namespace, job: job.name });
  if (pause !== null) return { stage: 'paused', detail: `placement: ${pause}`, nextTryMs: null };
  const blockedMs = state.blockedUntilMs - clock.monotonicMs();
  if (blockedMs > 0) return { stage: 'waiting', detail: state.blockedWhy, nextTryMs: nowMs + blockedMs };
  if (state.preempting !== null) return { stage: 'evicting', detail: state.preempting, nextTryMs: null };
  const soonestMs = Math.min(...fills.map((fill) => fill.notBeforeMs));
  if (soonestMs > nowMs) {
    const detail = `${String(fills.length)} wait after a failure`;
    return { stage: 'backing-off', detail, nextTryMs: soonestMs };
  }
  if (!state.parked) return { stage: 'deciding', detail: 'in the decision queue', nextTryMs: nowMs };
  const detail = state.explanation === null ? 'no host fits' : summaryOf(state.explanation);
  return { stage: 'parked', detail, nextTryMs: null };
}

/** All slots of the group have an allocation. */
function stageOfFilled(job: OwnedJob, name: string): Stage {
  const entries = [...job.entries.values()].filter((entry) => entry.allocation.group === name);
  const idle = entries.find((entry) => entry.report?.state !== 'running');
  if (idle === undefined)
    return { stage: 'running', detail: `${String(entries.length)} run`, nextTryMs: null };
  const { allocation, report } = idle;
  const detail = `on ${allocation.host}: ${report?.reason ?? 'not reported yet'}`;
  const stage = allocation.desired === 'run' ? (report?.state ?? idle.stage) : 'stopping';
  return { stage, detail, nextTryMs: null };
}
