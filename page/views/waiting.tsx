import type { JSX } from 'preact';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { isWaiting } from '../figures/job-matches.ts';
import { hashOf } from '../figures/route.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import { Loading, Table } from '../parts/parts.ts';

const EVERY_MS = 5_000;
/** For each of them a scheduler is asked why. */
const ASKED_MAX = 10;

interface Row {
  readonly job: JobSummary;
  /** null: nobody was asked, or nobody answered. */
  readonly why: string | null;
}

/** Jobs that wait for a place, with the reasons of the first. */
export function Waiting(): JSX.Element {
  const { client } = useCell();
  const answer = usePolled('waiting', EVERY_MS, async (signal): Promise<readonly Row[]> => {
    const { jobs } = await client.jobs(undefined, { signal });
    const waiting = jobs.filter(isWaiting);
    const asked = waiting.slice(0, ASKED_MAX).map(async (job) => ({
      job,
      why: await client.why({ namespace: job.namespace, job: job.name }, { signal }).then(
        ({ summary }) => summary,
        () => null,
      ),
    }));
    return [...(await Promise.all(asked)), ...waiting.slice(ASKED_MAX).map((job) => ({ job, why: null }))];
  });
  return (
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title">What waits</h2>
      {answer.value === null ? (
        <Loading error={answer.error} />
      ) : (
        <Table
          label="Jobs that wait"
          empty="Nothing waits."
          rows={answer.value}
          keyOf={({ job }) => `${job.namespace}/${job.name}`}
          columns={[
            {
              head: 'Job',
              cell: ({ job }) => (
                <a href={hashOf('jobs', [job.namespace, job.name])}>{`${job.namespace}/${job.name}`}</a>
              ),
            },
            {
              head: 'Placed',
              kind: 'number',
              cell: ({ job }) => `${String(job.counts.placed)} of ${String(job.counts.desired)}`,
            },
            { head: 'Why', cell: ({ why }) => <span title={why ?? ''}>{why ?? ''}</span> },
          ]}
        />
      )}
    </section>
  );
}
