import type { Fill, Evaluation } from '../../src/core/slots/job-view.ts';
import type { Why, WhyGroup } from '../../src/wire/api/scheduler-api.ts';
import { shortly } from './decide.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { SchedulerTerm } from '../term.ts';

/** Why a job has slots that do not run: a fresh look, not what was last remembered. */
export function whyOf(term: SchedulerTerm, job: OwnedJob): Why {
  const todo = term.decider.look(job, Math.floor(term.world.clock.nowMs()));
  const groups = Object.keys(job.record.job.groups).map((name) => whyGroup(term, job, name, todo));
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

function whyGroup(term: SchedulerTerm, job: OwnedJob, name: string, todo: Evaluation): WhyGroup {
  const group = job.record.job.groups[name];
  if (group === undefined) throw new Error(`job ${job.key} has no group ${name}`);
  const state = job.group(name);
  const fills = todo.fills.filter((fill) => fill.group === name);
  const { stage, detail, nextTryMs } = stageOf(term, job, name, fills);
  const explained = fills.length > 0 ? term.placer.explain(job, group, fills[0]) : null;
  const isShort = explained !== null && explained.hosts.length > 0;
  return {
    group: name,
    pending: fills.length,
    tries: state.tries,
    conflicts: state.conflicts,
    nextTryMs,
    stage,
    detail: stage === 'parked' && isShort ? shortly(explained) : detail,
    hosts: explained?.hosts ?? [],
    hostsTotal: term.cell.state.size,
    refusals: explained?.refusals ?? [],
  };
}

interface StageText {
  readonly stage: string;
  readonly detail: string;
  readonly nextTryMs: number | null;
}

function stageOf(term: SchedulerTerm, job: OwnedJob, name: string, fills: readonly Fill[]): StageText {
  const state = job.group(name);
  const nowMs = term.world.clock.nowMs();
  const entries = [...job.entries.values()].filter((entry) => entry.allocation.group === name);
  if (fills.length === 0) {
    const idle = entries.find((entry) => entry.report?.state !== 'running');
    const running = String(entries.length);
    if (idle === undefined) return { stage: 'running', detail: `${running} run`, nextTryMs: null };
    const { allocation, report } = idle;
    const detail = `on ${allocation.host}: ${report?.reason ?? 'not reported yet'}`;
    const stage = allocation.desired === 'run' ? (report?.state ?? idle.stage) : 'stopping';
    return { stage, detail, nextTryMs: null };
  }
  if (term.isPaused) return { stage: 'paused', detail: 'an operator has paused placement', nextTryMs: null };
  const blockedMs = state.blockedUntilMs - term.world.clock.monotonicMs();
  if (blockedMs > 0) return { stage: 'waiting', detail: state.blockedWhy, nextTryMs: nowMs + blockedMs };
  if (state.evicting !== null) return { stage: 'evicting', detail: state.evicting, nextTryMs: null };
  const soonestMs = Math.min(...fills.map((fill) => fill.notBeforeMs));
  if (soonestMs > nowMs)
    return {
      stage: 'backing-off',
      detail: `${String(fills.length)} wait after a failure`,
      nextTryMs: soonestMs,
    };
  if (!state.parked) return { stage: 'deciding', detail: 'its turn comes', nextTryMs: nowMs };
  const detail = state.explanation === null ? 'no host fits' : shortly(state.explanation);
  return { stage: 'parked', detail, nextTryMs: null };
}
