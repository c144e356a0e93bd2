import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import { ago, duration, exitText, resources } from '../../src/wire/values/words.ts';
import { useCell, useNowMs, usePolled } from '../parts/hooks.ts';
import { Confirm, Failed, Loading, Table } from '../parts/parts.ts';
import { Logs, Shell } from './inside.tsx';
import { Phase } from './jobs.tsx';
import { RolloutView } from './rollout.tsx';
import { TimelineView } from './timeline.tsx';
import { WhyView } from './why.tsx';

const EVERY_MS = 5_000;

/** Of one allocation. */
interface Shown {
  readonly what: 'output' | 'terminal';
  readonly of: AllocationStatus;
}

export function JobView(props: { readonly job: JobRef }): JSX.Element {
  const { job } = props;
  const { client, may } = useCell();
  const answer = usePolled('job', EVERY_MS, (signal) => client.status(job, { signal }));
  const [shown, setShown] = useState<Shown | null>(null);
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
      {summary.desired === 'stop' || !may('submit') ? null : (
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
      {summary.type === 'batch' && summary.version === 1 ? null : (
        <RolloutView job={job} of={answer.value} onDone={answer.now} />
      )}
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
            { head: 'Host', kind: 'wide', cell: ({ allocation }) => allocation.host },
            { head: 'Asks for', kind: 'wide', cell: ({ allocation }) => resources(allocation.resources) },
            { head: 'Scheduler', kind: 'wide', cell: ({ allocation }) => allocation.scheduler },
            { head: 'Restarts', kind: 'wide number', cell: ({ restarts }) => restarts.count },
            {
              head: 'Age',
              kind: 'wide number',
              cell: ({ allocation }) => ago(nowMs, allocation.createdAtMs),
            },
            {
              head: 'See',
              cell: (status) => <See of={status} shown={shown} onShow={setShown} />,
            },
          ]}
        />
      </section>
      {shown?.what === 'output' ? <Logs job={job} of={shown.of} /> : null}
      {shown?.what === 'terminal' ? (
        <Shell key={shown.of.allocation.id} of={shown.of} onClose={() => setShown(null)} />
      ) : null}
      <TimelineView of={answer.value} nowMs={nowMs} />
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

/** Its output; a terminal in it, while it runs and if its viewer may. */
function See(props: {
  readonly of: AllocationStatus;
  readonly shown: Shown | null;
  readonly onShow: (shown: Shown) => void;
}): JSX.Element {
  const { of, shown, onShow } = props;
  const { may } = useCell();
  const isShown = (what: Shown['what']): boolean =>
    shown?.what === what && shown.of.allocation.id === of.allocation.id;
  const button = (what: Shown['what'], label: string, text: string): JSX.Element => (
    <button
      type="button"
      aria-label={`${label} ${of.name}`}
      aria-pressed={isShown(what)}
      onClick={() => onShow({ what, of })}
    >
      {text}
    </button>
  );
  return (
    <span class="buttons">
      {button('output', 'Show output of', 'Output')}
      {may('enter') && of.report?.state === 'running'
        ? button('terminal', 'Open a terminal in', 'Terminal')
        : null}
    </span>
  );
}
