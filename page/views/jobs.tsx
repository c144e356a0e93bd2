import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { JobSummary } from '../../src/wire/api/monitor-api.ts';
import { ago } from '../../src/wire/values/words.ts';
import { jobMatches } from '../figures/job-matches.ts';
import { hashOf } from '../figures/route.ts';
import { useCell, useNowMs, usePolled } from '../parts/hooks.ts';
import { Failed, Loading, Table } from '../parts/parts.ts';

const EVERY_MS = 5_000;

export function Jobs(props: { readonly filter: string }): JSX.Element {
  const { client } = useCell();
  const [filter, setFilter] = useState(props.filter);
  const answer = usePolled('jobs', EVERY_MS, (signal) => client.jobs(undefined, { signal }));
  const nowMs = useNowMs(EVERY_MS);
  const all = answer.value?.jobs;
  const rows = useMemo(() => (all ?? []).filter((job) => jobMatches(job, filter)).reverse(), [all, filter]);
  if (all === undefined) return <Loading error={answer.error} />;
  return (
    <>
      <Failed error={answer.error} />
      <label class="filter">
        Filter by name, namespace, type, phase or owner
        <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </label>
      <p class="hint" role="status">{`${String(rows.length)} of ${String(all.length)} jobs`}</p>
      <Table
        label="Jobs"
        empty={all.length === 0 ? 'No jobs yet: the view Run makes one.' : 'No job matches the filter.'}
        rows={rows}
        keyOf={(job) => `${job.namespace}/${job.name}`}
        columns={[
          {
            head: 'Job',
            cell: (job) => (
              <a href={hashOf('jobs', [job.namespace, job.name])}>{`${job.namespace}/${job.name}`}</a>
            ),
          },
          { head: 'Phase', cell: (job) => <Phase job={job} /> },
          { head: 'Type', kind: 'wide', cell: ({ type }) => type },
          {
            head: 'Running',
            kind: 'number',
            cell: ({ counts }) => `${String(counts.running)}/${String(counts.desired)}`,
          },
          { head: 'Failed', kind: 'wide number', cell: ({ counts }) => counts.failed },
          { head: 'Restarts', kind: 'wide number', cell: ({ restarts }) => restarts.count },
          { head: 'Owner', kind: 'wide', cell: ({ owner }) => owner ?? '' },
          { head: 'Age', kind: 'wide number', cell: ({ submittedAtMs }) => ago(nowMs, submittedAtMs) },
        ]}
      />
    </>
  );
}

const MARKS = { pending: '◌', running: '●', complete: '✓', failed: '✗', stopped: '■' } as const;

/** A mark and a word: nobody needs the colour. */
export function Phase(props: { readonly job: Pick<JobSummary, 'phase'> }): JSX.Element {
  const { phase } = props.job;
  return (
    <span class={`phase ${phase}`}>
      <span aria-hidden="true">{MARKS[phase]}</span> {phase}
    </span>
  );
}
