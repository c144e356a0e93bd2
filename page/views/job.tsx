import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import { ago, duration, exitText, resources } from '../../src/wire/values/words.ts';
import { useCell, useNowMs, usePolled } from '../parts/hooks.ts';
import { Confirm, Failed, Loading, Output, Table } from '../parts/parts.ts';
import { Phase } from './jobs.tsx';
import { WhyView } from './why.tsx';

const EVERY_MS = 5_000;

export function JobView(props: { readonly job: JobRef }): JSX.Element {
  const { job } = props;
  const { client } = useCell();
  const answer = usePolled('job', EVERY_MS, (signal) => client.status(job, { signal }));
  const [shown, setShown] = useState<AllocationStatus | null>(null);
  const [asks, setAsks] = useState(false);
  const [failed, setFailed] = useState<Error | null>(null);
  const nowMs = useNowMs(EVERY_MS);
  if (answer.value === null) return <Loading error={answer.error} />;
  const { summary, allocations, outcomes, silentHosts = [] } = answer.value;
  const { counts } = summary;
  const stop = (): void => {
    setAsks(false);
    client.stop(job).then(() => {
      setFailed(null);
      answer.now();
    }, setFailed);
  };
  return (
    <>
      <h2>
        {`${job.namespace}/${job.job}`} <Phase job={summary} />
      </h2>
      <Failed error={failed ?? answer.error} />
      <p>
        {`${summary.type}, version ${String(summary.version)}, `}
        {`${String(counts.running)} of ${String(counts.desired)} running, `}
        {`${String(counts.complete)} complete, ${String(counts.failed)} failed, `}
        {`owner ${summary.owner ?? 'none'}, submitted ${ago(nowMs, summary.submittedAtMs)} ago`}
      </p>
      {silentHosts.map(({ host, detail }) => (
        <p class="notice" key={host}>{`▲ ${host}: ${detail}`}</p>
      ))}
      {summary.desired === 'stop' ? null : (
        <p class="actions">
          <button type="button" onClick={() => setAsks(true)}>
            Stop this job
          </button>
        </p>
      )}
      {asks ? (
        <Confirm title={`Stop ${job.job}?`} yes="Stop it" onYes={stop} onNo={() => setAsks(false)}>
          <p>{`${String(counts.running)} running allocations are stopped. Nothing starts it again.`}</p>
        </Confirm>
      ) : null}
      <WhyView job={job} />
      <section aria-labelledby="allocations-title">
        <h2 id="allocations-title">Allocations</h2>
        <Table
          label="Allocations"
          empty="Nothing is placed."
          rows={allocations}
          keyOf={({ allocation }) => allocation.id}
          columns={[
            { head: 'Allocation', cell: ({ name }) => name },
            { head: 'State', cell: (status) => stateOf(status) },
            { head: 'Host', cell: ({ allocation }) => allocation.host },
            { head: 'Asks for', kind: 'wide', cell: ({ allocation }) => resources(allocation.resources) },
            { head: 'Scheduler', kind: 'wide', cell: ({ allocation }) => allocation.scheduler },
            { head: 'Restarts', kind: 'wide number', cell: ({ restarts }) => restarts.count },
            {
              head: 'Age',
              kind: 'wide number',
              cell: ({ allocation }) => ago(nowMs, allocation.createdAtMs),
            },
            {
              head: 'Output',
              cell: (status) => (
                <button
                  type="button"
                  aria-label={`Show output of ${status.name}`}
                  aria-pressed={shown?.allocation.id === status.allocation.id}
                  onClick={() => setShown(status)}
                >
                  Show
                </button>
              ),
            },
          ]}
        />
      </section>
      {shown === null ? null : <Logs job={job} of={shown} />}
      {outcomes.length === 0 ? null : (
        <section aria-labelledby="outcomes-title">
          <h2 id="outcomes-title">Ended allocations</h2>
          <Table
            label="Ended allocations"
            empty=""
            rows={outcomes.toReversed()}
            keyOf={({ allocation }) => allocation}
            columns={[
              { head: 'Slot', cell: ({ group, index }) => `${group}[${String(index)}]` },
              { head: 'State', cell: ({ state }) => state },
              { head: 'Exit', cell: ({ exit }) => exitText(exit) },
              { head: 'Host', kind: 'wide', cell: ({ host }) => host },
              {
                head: 'Ran for',
                kind: 'wide number',
                cell: ({ startedAtMs, endedAtMs }) =>
                  startedAtMs === undefined ? '' : duration(endedAtMs - startedAtMs),
              },
              {
                head: 'Why',
                cell: ({ cause, reason }) => <span title={cause ?? reason}>{cause ?? reason}</span>,
              },
            ]}
          />
        </section>
      )}
    </>
  );
}

function stateOf({ allocation, report, stale }: AllocationStatus): string {
  const state = report?.state ?? 'placed';
  const wish = allocation.desired === 'run' ? '' : `, to ${allocation.desired}`;
  return `${state}${wish}${stale ? ' (host silent)' : ''}`;
}

function Logs(props: { readonly job: JobRef; readonly of: AllocationStatus }): JSX.Element {
  const { allocation, report, name } = props.of;
  const tasks = Object.keys(report?.tasks ?? {});
  const [task, setTask] = useState<string | null>(null);
  const [stream, setStream] = useState<'stdout' | 'stderr'>('stdout');
  const chosen = task ?? tasks[0];
  return (
    <section aria-labelledby="logs-title">
      <h2 id="logs-title">Output of {name}</h2>
      <p class="actions">
        {tasks.length < 2 ? null : (
          <label class="inline">
            Task
            <select value={chosen} onChange={(event) => setTask(event.currentTarget.value)}>
              {tasks.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        )}
        <label class="inline">
          Stream
          <select
            value={stream}
            onChange={(event) => setStream(event.currentTarget.value === 'stderr' ? 'stderr' : 'stdout')}
          >
            <option>stdout</option>
            <option>stderr</option>
          </select>
        </label>
      </p>
      <Output
        label={stream}
        job={props.job}
        call={{ stream, allocation: allocation.id, ...(chosen === undefined ? {} : { task: chosen }) }}
      />
    </section>
  );
}
