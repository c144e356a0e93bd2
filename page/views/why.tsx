import type { JSX } from 'preact';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import type { WhyGroup } from '../../src/wire/api/scheduler-api.ts';
import { plural } from '../../src/wire/values/words.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import { Loading, Table } from '../parts/parts.ts';

const EVERY_MS = 5_000;

/** Why the job does not run, or does: the owner's own answer, with every host and the check that refused it. */
export function WhyView(props: { readonly job: JobRef }): JSX.Element {
  const { client } = useCell();
  const answer = usePolled('why', EVERY_MS, (signal) => client.why(props.job, { signal }));
  return (
    <section aria-labelledby="why-title">
      <h2 id="why-title">Why</h2>
      {answer.value === null ? (
        <Loading error={answer.error} />
      ) : (
        <>
          <p>{answer.value.summary}</p>
          {answer.value.groups.map((group) => (
            <Group key={group.group} group={group} summary={answer.value?.summary ?? ''} />
          ))}
        </>
      )}
    </section>
  );
}

function Group(props: { readonly group: WhyGroup; readonly summary: string }): JSX.Element {
  const { group, pending, stage, detail, tries, conflicts, fits, hosts, hostsTotal, refusals } = props.group;
  return (
    <>
      <h3>{group}</h3>
      <p>
        {props.summary.includes(detail) ? '' : `${stage}: ${detail}; `}
        {`${String(pending)} pending, ${plural(tries, 'try').replace('trys', 'tries')}, ${plural(conflicts, 'conflict')}`}
      </p>
      {fits === undefined ? null : (
        <p>
          {`${String(fits.now)} of ${String(fits.pending)} fit now; ${String(fits.whenEmpty)} of ${String(fits.count)} if nothing else ran`}
        </p>
      )}
      {refusals.length === 0 ? null : (
        <p>
          {refusals
            .map(({ check, hosts: refused }) => `${check} refused ${plural(refused, 'host')}`)
            .join(', ')}
        </p>
      )}
      {hosts.length === 0 ? null : (
        <Table
          label={`Hosts that refused ${group}: ${String(hosts.length)} of ${String(hostsTotal)}`}
          empty=""
          rows={hosts}
          keyOf={({ host }) => host}
          columns={[
            { head: 'Host', cell: ({ host }) => host },
            { head: 'Check', cell: ({ check }) => check },
            { head: 'Found', cell: (row) => <span title={row.detail}>{row.detail}</span> },
          ]}
        />
      )}
    </>
  );
}
