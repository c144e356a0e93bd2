import type { JSX } from 'preact';
import { percent } from '../../src/wire/values/words.ts';
import { looked } from '../figures/series.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import { Failed, Line, Loading, Table } from '../parts/parts.ts';

const EVERY_MS = 2_000;
/** Lines of conflicts and rebases fill their height at these at least. */
const CONFLICTS_TOP = 0.1;
const REBASES_TOP = 1;

/** The schedulers that compete, and what they did since the page was opened. */
export function Schedulers(): JSX.Element {
  const { client, schedulers: kept } = useCell();
  const answer = usePolled('schedulers', EVERY_MS, async (signal) => {
    const found = await client.schedulers({ signal });
    const atMs = performance.now();
    for (const status of found.schedulers) kept.set(status.id, looked(kept.get(status.id), status, atMs));
    return found;
  });
  if (answer.value === null) return <Loading error={answer.error} />;
  const rows = answer.value.schedulers.flatMap(({ id }) => kept.get(id) ?? []);
  return (
    <section aria-labelledby="schedulers-title">
      <h2 id="schedulers-title">Schedulers</h2>
      <p class="hint">Lines are of the last six minutes that this page was open; figures since each began.</p>
      <Failed error={answer.error} />
      {answer.value.unreachable.length === 0 ? null : (
        <p class="notice bad">▲ No answer from {answer.value.unreachable.join(', ')}</p>
      )}
      <Table
        label="Schedulers"
        empty="No scheduler is registered."
        rows={rows}
        keyOf={({ status }) => status.id}
        columns={[
          { head: 'Scheduler', cell: ({ status }) => status.id },
          { head: 'Kind', kind: 'wide', cell: ({ status }) => status.kind },
          { head: 'Policy', kind: 'wide', cell: ({ status }) => status.policy },
          { head: 'Jobs', kind: 'number', cell: ({ status }) => status.jobsOwned },
          { head: 'Waiting', kind: 'number', cell: ({ status }) => status.pending },
          {
            head: 'Busy',
            cell: ({ samples, status }) => (
              <Line
                label="busy"
                top={1}
                values={samples.map(({ busy }) => busy)}
                text={percent(status.busyFraction, 1)}
              />
            ),
          },
          {
            head: 'Conflicts',
            cell: ({ samples, status }) => (
              <Line
                label="conflicts"
                top={CONFLICTS_TOP}
                values={samples.map(({ conflicts }) => conflicts)}
                text={String(status.conflicted)}
              />
            ),
          },
          {
            head: 'Rebases',
            cell: ({ samples, status }) => (
              <Line
                label="rebases"
                top={REBASES_TOP}
                values={samples.map(({ rebases }) => rebases)}
                text={String(status.rebased)}
              />
            ),
          },
          { head: 'Committed', kind: 'wide number', cell: ({ status }) => status.committed },
        ]}
      />
    </section>
  );
}
