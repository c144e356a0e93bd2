import type { JobPlan, PlanAct, PlanAnswer, PlanQuota } from '../../src/wire/plan/plan.ts';
import { plural } from '../../src/wire/values/words.ts';

/** Lines of one job: a person reads no more; all are in `-o json`. */
const LINES_MAX = 40;

/** What becomes of one allocation, or of one slot that is stopped and started again. */
export interface Step {
  readonly step: 'start' | 'stop' | 'replace' | 'move' | 'beside' | 'preempt' | 'stay';
  readonly act: PlanAct;
}

/**
 * The acts of a job as people think of them: a slot that stops and starts again is replaced, or moves; one that starts and
 * stops again stands beside the others during an update.
 */
export function stepsOf(acts: readonly PlanAct[]): readonly Step[] {
  const steps: Step[] = [];
  const openStarts = new Map<string, number>();
  const openStops = new Map<string, number>();
  for (const act of acts) {
    const { slot, from } = act;
    if (act.act === 'preempt' || act.act === 'stay') steps.push({ step: act.act, act });
    else if (act.act === 'stop') {
      const started = openStarts.get(slot);
      openStarts.delete(slot);
      if (started !== undefined) steps[started] = { step: 'beside', act };
      else openStops.set(slot, steps.push({ step: 'stop', act }) - 1);
    } else {
      const stopped = openStops.get(slot);
      openStops.delete(slot);
      if (from === undefined || stopped === undefined)
        openStarts.set(slot, steps.push({ step: 'start', act }) - 1);
      else steps[stopped] = { step: from === act.host ? 'replace' : 'move', act };
    }
  }
  return steps;
}

export function isNothing({ jobs, jobsHidden }: PlanAnswer): boolean {
  return jobsHidden === 0 && jobs.every(({ acts, waits }) => acts.length === 0 && waits.length === 0);
}

/** One line a step, and a sentence for each group that would wait. */
export function linesOfPlan(plan: JobPlan): readonly string[] {
  const steps = stepsOf(plan.acts);
  const lines = steps.slice(0, LINES_MAX).map(lineOf);
  const more = steps.length - lines.length + plan.actsLeftOut;
  if (more > 0) lines.push(`and ${String(more)} more${plan.actsLeftOut > 0 ? '' : ': -o json lists them'}`);
  for (const { group, waiting, waitingBefore, detail } of plan.waits) {
    const before = waitingBefore === 0 ? '' : ` (${String(waitingBefore)} before)`;
    const what =
      waiting === 0 ? `group ${group} waits` : `${String(waiting)} of group ${group} wait${before}`;
    lines.push(`${what}: ${detail}`);
  }
  if (plan.finished !== undefined) lines.push(`the job ends: ${plan.finished}`);
  return lines;
}

/** What else is to be said of the whole plan. */
export function remarksOf({ jobsHidden, quotas = [], unanswered, isCut }: PlanAnswer): readonly string[] {
  return [
    ...(jobsHidden === 0 ? [] : [`and ${plural(jobsHidden, 'job')} of namespaces that you do not see`]),
    ...quotas.map(overText),
    ...unanswered.map((what) => `not asked: ${what}`),
    ...(isCut ? ['not all was decided: the search took too long'] : []),
  ];
}

function overText({ namespace, dimension, limit, used, wanted }: PlanQuota): string {
  const [unit, what] = UNITS[dimension];
  const amount = (value: number): string => `${String(value)}${unit}`;
  return `beyond the quota of ${namespace}: ${amount(wanted)} ${what} of ${amount(limit)}, ${amount(used)} in use; what is beyond it waits`;
}

const UNITS = {
  cpuMilli: ['m', 'cpu'],
  memoryMib: ['Mi', 'memory'],
  gpuMilli: ['m', 'gpu'],
  allocations: ['', 'allocations'],
} as const;

function lineOf({ step, act }: Step): string {
  const { slot, host, from = '', cause = '', namespace, job } = act;
  switch (step) {
    case 'start':
      return `start ${slot} on ${host}`;
    case 'replace':
      return `replace ${slot} on ${host}`;
    case 'move':
      return `move ${slot} from ${from} to ${host}`;
    case 'beside':
      return `start ${slot} on ${host} while the update goes on`;
    case 'stay':
      return `lose ${slot} with ${host}: ${cause}`;
    case 'stop':
      return `stop ${slot} on ${host}: ${cause}`;
    case 'preempt':
      return `preempt ${slot} on ${host}${job === '' ? '' : ` of ${namespace}/${job}`}`;
  }
}
