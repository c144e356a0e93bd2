import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { RolloutAct } from '../../src/wire/api/monitor-api.ts';
import type { Why } from '../../src/wire/api/scheduler-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { withJob } from '../names/find-job.ts';
import { printAnswer } from '../output/output.ts';
import { ago } from '../../src/wire/values/words.ts';

const SAID: Readonly<Record<RolloutAct, string>> = {
  pause: 'is paused: nothing more is replaced',
  resume: 'goes on',
  promote: 'is promoted: the rest is replaced',
};

export async function steer(context: Context, written: string, act: RolloutAct): Promise<number> {
  const { name, answer } = await withJob(context, written, (api, job) => api.steerRollout(job, act));
  await printAnswer(context, answer, {
    name: name.job,
    text: () => `the update of ${name.job} ${SAID[act]}\n`,
  });
  return EXIT.ok;
}

/** Exits as `run` would: 1 when the update failed. */
export async function rolloutStatus(context: Context, written: string): Promise<number> {
  const { name, answer } = await withJob(context, written, async (api, job) => {
    const status = await api.status(job);
    return { status, why: isUnderWay(status) ? await api.why(job) : null };
  });
  const { status, why } = answer;
  await printAnswer(
    context,
    {
      ...status.rollout,
      version: status.summary.version,
      counts: status.summary.counts,
      why: why?.summary ?? null,
    },
    { name: name.job, text: () => render(status, why, context.terminal.nowMs()) },
  );
  return recordOf(status)?.state === 'failed' ? EXIT.workloadFailed : EXIT.ok;
}

function isUnderWay(status: JobStatus): boolean {
  return (status.rollout?.outdated ?? 0) > 0 || recordOf(status)?.state === 'updating';
}

function recordOf({ summary, rollout }: JobStatus): NonNullable<JobStatus['rollout']>['record'] {
  const record = rollout?.record ?? null;
  return record?.version === summary.version ? record : null;
}

function render(status: JobStatus, why: Why | null, nowMs: number): string {
  const { summary, rollout } = status;
  const { counts, name, version } = summary;
  const record = recordOf(status);
  const state =
    rollout?.paused === true
      ? 'paused'
      : (record?.state ?? (isUnderWay(status) ? 'updating' : 'as submitted'));
  const since = record === null ? '' : ` since ${ago(nowMs, record.sinceMs)}`;
  const good = rollout?.record?.good;
  const lines = [
    `${name}: version ${String(version)} ${state}${since}`,
    `  wanted ${String(counts.desired)}, running ${String(counts.running)}, ready ${String(counts.ready ?? counts.running)}, ` +
      `still to be replaced ${String(rollout?.outdated ?? 0)}`,
    ...(good === undefined ? [] : [`  last good version ${String(good)}`]),
    ...(record?.state === 'failed'
      ? [`  failed: ${record.reason}`, `next: moorage rollout undo ${name}`]
      : []),
    ...(why === null ? [] : [`  ${why.summary}`]),
  ];
  return `${lines.join('\n')}\n`;
}
