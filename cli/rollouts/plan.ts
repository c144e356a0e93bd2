import type { Job } from '../../src/core/cell/job.ts';
import type { JobPlan, PlanAnswer, PlanRequest } from '../../src/wire/plan/plan.ts';
import { jobToFile } from '../../src/wire/job-file/job-file.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { changesBetween, jobOf, jobOfFile, linesOf } from './diff.ts';
import { isNothing, linesOfPlan, remarksOf } from './plan-text.ts';

/**
 * How the file differs from the job that is there, and what its submission would start, stop, move and preempt. Exits with 0
 * when nothing would, with 1 when anything would.
 */
export async function planFile(context: Context, file: string): Promise<number> {
  const after = await jobOfFile(context, file);
  const { namespace, name } = after;
  const before = await jobOf(context, { namespace, job: name }, null);
  const changes = before === null ? [] : changesBetween(before, after);
  const api = await context.api();
  const answer = await api.plan({ submit: jobToFile(after) });
  const own = answer.jobs.find((one) => one.namespace === namespace && one.job === name);
  const others = answer.jobs.filter((one) => one !== own);
  const text = (): string =>
    textOf([
      ...(before === null ? ['a new job'] : linesOf(changes)),
      ...(own === undefined ? [] : linesOfPlan(own)),
      ...growthOf(after),
      ...linesOfOthers(others),
      ...remarksOf(answer),
      ...(isNothing(answer) && answer.unanswered.length === 0 ? ['nothing starts or stops'] : []),
      ...guardOf(file, answer),
    ]);
  await printAnswer(context, { changes, ...answer }, { name, text });
  return exitOf(answer);
}

/** Which jobs would be decided otherwise. */
export async function whatIf(context: Context, request: PlanRequest): Promise<number> {
  const api = await context.api();
  const answer = await api.plan(request);
  const text = (): string => {
    const lines = [...linesOfOthers(answer.jobs), ...remarksOf(answer)];
    return textOf([...lines, ...(lines.length === 0 ? ['no job moves, waits or is preempted'] : [])]);
  };
  await printAnswer(context, answer, { name: answer.jobs.map(({ job }) => job).join('\n'), text });
  return exitOf(answer);
}

export async function whatIfSubmitted(context: Context, file: string): Promise<number> {
  return await whatIf(context, { submit: jobToFile(await jobOfFile(context, file)) });
}

function linesOfOthers(jobs: readonly JobPlan[]): readonly string[] {
  return jobs.flatMap((plan) => {
    const lines = linesOfPlan(plan);
    return lines.length === 0 ? [] : [`${plan.namespace}/${plan.job}:`, ...lines.map((line) => `  ${line}`)];
  });
}

/** What is idle changes from moment to moment, so a plan tells of the minimum alone. */
function growthOf({ groups }: Job): readonly string[] {
  return Object.values(groups).flatMap(({ name, count, countMax }) =>
    countMax === undefined
      ? []
      : [`group ${name} has ${String(count)}, and grows to ${String(countMax)} while there is idle capacity`],
  );
}

/** Submits only if nobody else did meanwhile. */
function guardOf(file: string, { versionBefore }: PlanAnswer): readonly string[] {
  if (versionBefore === undefined) return [];
  return [`to submit exactly this: moorage run ${file} --check-version ${String(versionBefore ?? 0)}`];
}

function exitOf(answer: PlanAnswer): number {
  if (answer.unanswered.length > 0) return EXIT.unreachable;
  return isNothing(answer) ? EXIT.ok : EXIT.workloadFailed;
}

function textOf(lines: readonly string[]): string {
  return [...lines, 'nothing was done'].map((line) => `${line}\n`).join('');
}
