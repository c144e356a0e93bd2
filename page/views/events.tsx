import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { clockTime } from '../../src/wire/values/words.ts';
import { useCell, useWatched } from '../parts/hooks.ts';
import { Table } from '../parts/parts.ts';

export function Events(): JSX.Element {
  const { feed } = useCell();
  const live = useWatched(feed.events);
  const [filter, setFilter] = useState('');
  const [held, setHeld] = useState<readonly CellEvent[] | null>(null);
  const events = held ?? live;
  const rows = useMemo(() => events.filter((event) => matches(event, filter)), [events, filter]);
  return (
    <>
      <label class="filter">
        Filter by kind, source, job, host or text
        <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </label>
      <p class="actions">
        <button
          type="button"
          aria-pressed={held !== null}
          onClick={() => setHeld(held === null ? live : null)}
        >
          Hold
        </button>
        <span class="hint">{`${String(rows.length)} of ${String(events.length)} events, ${held === null ? 'live' : 'held'}`}</span>
      </p>
      <Table
        label="Events"
        follows
        empty="Nothing happened yet, or nothing matches the filter."
        rows={rows}
        keyOf={(event) => `${event.id} ${String(event.atMs)} ${event.kind} ${event.allocation ?? ''}`}
        columns={[
          { head: 'Time', cell: ({ atMs }) => clockTime(atMs) },
          { head: 'Kind', cell: ({ kind }) => kind },
          { head: 'Source', kind: 'wide', cell: ({ source }) => source },
          { head: 'About', kind: 'wide', cell: aboutOf },
          { head: 'Detail', cell: ({ detail }) => <span title={detail}>{detail}</span> },
        ]}
      />
    </>
  );
}

export function aboutOf({ namespace, job, slot, host }: CellEvent): string {
  const what = slot ?? (job === undefined ? undefined : `${namespace ?? ''}/${job}`);
  return [what, host].filter((part) => part !== undefined).join(' on ');
}

function matches(event: CellEvent, filter: string): boolean {
  const text =
    `${event.kind} ${event.source} ${aboutOf(event)} ${event.job ?? ''} ${event.detail}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
