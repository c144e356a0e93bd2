import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { updatePolicyOf } from '../../src/core/slots/update-policy.ts';
import type { JobStatus, VersionStatus } from '../../src/wire/api/monitor-api.ts';
import { ago } from '../../src/wire/values/words.ts';
import { rolloutStateOf } from '../figures/rollout-state.ts';
import { useCell, useNowMs, usePolled } from '../parts/hooks.ts';
import { Confirm, Failed, Meter, Table } from '../parts/parts.ts';

const EVERY_MS = 5_000;

type Act = 'pause' | 'resume' | 'promote' | 'undo';

const ACTS: Readonly<Record<Act, { readonly title: string; readonly says: string }>> = {
  pause: { title: 'Pause the update', says: 'Nothing more is replaced until it is resumed.' },
  resume: { title: 'Resume the update', says: 'The rest is replaced, in its turn.' },
  promote: { title: 'Promote the canaries', says: 'The rest is replaced too, in its turn.' },
  undo: {
    title: 'Undo',
    says: 'The spec of the last good version before this one is submitted again, as a new version.',
  },
};

/** How far the update to a job's version is, what may be said about it, and the versions before. */
export function RolloutView(props: {
  readonly job: JobRef;
  readonly of: JobStatus;
  readonly onDone: () => void;
}): JSX.Element {
  const { job, of, onDone } = props;
  const { client, may } = useCell();
  const history = usePolled('history', EVERY_MS, (signal) => client.history(job, { signal }));
  const [asked, setAsked] = useState<Act | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const nowMs = useNowMs(EVERY_MS);
  const { word, record, replaced, wanted, isUnderWay, mayPromote } = rolloutStateOf(of);
  const versions = history.value?.versions ?? [];
  const { version, desired } = of.summary;
  const acts: readonly Act[] = [
    ...(isUnderWay ? [word === 'paused' ? ('resume' as const) : ('pause' as const)] : []),
    ...(mayPromote ? ['promote' as const] : []),
    ...(versions.some((one) => one.version < version) ? ['undo' as const] : []),
  ];
  const does = (act: Act): void => {
    setAsked(null);
    const done = act === 'undo' ? client.undo(job) : client.steerRollout(job, act);
    done.then(() => {
      setFailed(null);
      history.now();
      onDone();
    }, setFailed);
  };
  return (
    <section aria-labelledby="rollout-title">
      <h2 id="rollout-title">Rollout</h2>
      <Failed error={failed ?? history.error} />
      <p>
        {`Version ${String(version)}: `}
        <strong>{word}</strong>
        {record === null ? '' : ` since ${ago(nowMs, record.sinceMs)}`}
        {record === null || record.reason === '' ? '' : `: ${record.reason}`}{' '}
        <Meter
          label="Of the present version"
          part={replaced}
          whole={wanted}
          isProgress
          text={`${String(replaced)} of ${String(wanted)} are of this version`}
        />
      </p>
      <p class="hint">{stepsOf(of)}</p>
      {acts.length === 0 || desired === 'stop' || !may('submit') ? null : (
        <p class="actions">
          {acts.map((act) => (
            <button key={act} type="button" onClick={() => setAsked(act)}>
              {ACTS[act].title}
            </button>
          ))}
        </p>
      )}
      {asked === null ? null : (
        <Confirm
          title={`${ACTS[asked].title}?`}
          yes={ACTS[asked].title}
          onYes={() => does(asked)}
          onNo={() => setAsked(null)}
        >
          <p>{ACTS[asked].says}</p>
        </Confirm>
      )}
      <Table
        label="Versions"
        empty="No version is kept."
        rows={versions}
        keyOf={(one) => String(one.version)}
        columns={[
          { head: 'Version', cell: (one) => one.version },
          { head: 'Submitted', cell: ({ submittedAtMs }) => `${ago(nowMs, submittedAtMs)} ago` },
          { head: 'Is', cell: wordsOf },
          { head: 'Now', kind: 'number', cell: (one) => countOf(of, one.version) },
        ]}
      />
    </section>
  );
}

function wordsOf({ current, good, restores }: VersionStatus): string {
  const again = restores === null ? [] : [`version ${String(restores)} again`];
  return [...(current ? ['current'] : []), ...(good ? ['good'] : []), ...again].join(', ');
}

function countOf({ allocations }: JobStatus, version: number): number {
  return allocations.filter(({ allocation }) => allocation.jobVersion === version).length;
}

/** How its groups are replaced. */
function stepsOf({ record }: JobStatus): string {
  return Object.values(record.job.groups)
    .map((group) => {
      const { parallelism, strategy, canary } = updatePolicyOf(group);
      const canaries = canary === 0 ? '' : `, after ${String(canary)} as canary`;
      return `${group.name}: ${String(parallelism)} at a time, ${strategy}${canaries}`;
    })
    .join(' · ');
}
