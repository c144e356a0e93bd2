import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { windowText } from '../../src/core/host/drain-window.ts';
import { allocatable } from '../../src/core/host/host.ts';
import type { HostStatus } from '../../src/wire/api/monitor-api.ts';
import { cores, size } from '../../src/wire/values/words.ts';
import { troubleOf } from '../figures/host-grid.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import type { Column } from '../parts/parts.ts';
import { Failed, Loading, Meter, Table } from '../parts/parts.ts';
import { Drain } from './drain.tsx';

const EVERY_MS = 5_000;

export function Hosts(props: { readonly filter: string }): JSX.Element {
  const { client, may } = useCell();
  const [filter, setFilter] = useState(props.filter);
  const [drained, setDrained] = useState<string | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const answer = usePolled('hosts', EVERY_MS, (signal) => client.hosts({ signal }));
  const all = answer.value?.hosts;
  const rows = useMemo(() => (all ?? []).filter((status) => matches(status, filter)), [all, filter]);
  if (all === undefined) return <Loading error={answer.error} />;
  const ready = (host: string): void => {
    client.setEligibility(host, { state: 'ready', reason: '' }).then(() => {
      setFailed(null);
      answer.now();
    }, setFailed);
  };
  const act: Column<HostStatus> = {
    head: 'Do',
    cell: ({ host, eligibility }) =>
      eligibility === null || eligibility.state === 'ready' ? (
        <button type="button" aria-label={`Drain ${host.id}`} onClick={() => setDrained(host.id)}>
          Drain
        </button>
      ) : (
        <button type="button" aria-label={`Ready ${host.id}`} onClick={() => ready(host.id)}>
          Ready
        </button>
      ),
  };
  return (
    <>
      <Failed error={failed ?? answer.error} />
      <label class="filter">
        Filter by name, state or attribute
        <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </label>
      <p class="hint" role="status">{`${String(rows.length)} of ${String(all.length)} hosts`}</p>
      <Table
        label="Hosts"
        empty={all.length === 0 ? 'No host has joined.' : 'No host matches the filter.'}
        rows={rows}
        keyOf={({ host }) => host.id}
        columns={[
          { head: 'Host', cell: ({ host }) => host.id },
          { head: 'State', cell: (status) => <State of={status} /> },
          {
            head: 'CPU',
            cell: ({ host, used }) => {
              const all = allocatable(host).cpuMilli;
              return (
                <Meter
                  label="CPU"
                  part={used.cpuMilli}
                  whole={all}
                  text={`${cores(used.cpuMilli)}/${cores(all)}`}
                />
              );
            },
          },
          {
            head: 'Memory',
            kind: 'wide',
            cell: ({ host, used }) => {
              const all = allocatable(host).memoryMib;
              return (
                <Meter
                  label="Memory"
                  part={used.memoryMib}
                  whole={all}
                  text={`${size(used.memoryMib)}/${size(all)}`}
                />
              );
            },
          },
          { head: 'Allocations', kind: 'wide number', cell: ({ allocations }) => allocations },
          ...(may('operate') ? [act] : []),
        ]}
      />
      {drained === null ? null : (
        <Drain
          host={drained}
          onDone={(error) => {
            setDrained(null);
            setFailed(error);
            answer.now();
          }}
        />
      )}
    </>
  );
}

function matches({ host, eligibility }: HostStatus, filter: string): boolean {
  const attributes = Object.entries(host.attributes).map(([name, value]) => `${name}=${value}`);
  const text = [host.id, eligibility?.state ?? 'ready', ...attributes].join(' ').toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function State(props: { readonly of: HostStatus }): JSX.Element {
  const { eligibility, allocations } = props.of;
  const trouble = troubleOf(props.of);
  const window = eligibility?.window;
  const planned = window === undefined ? '' : windowText(window);
  if (trouble === null)
    return (
      <span
        class="phase running"
        title={planned}
      >{`● ready${planned === '' ? '' : ', a drain is planned'}`}</span>
    );
  const isEmpty = trouble === 'draining' && allocations === 0;
  return (
    <span
      class="phase pending"
      title={[eligibility?.reason ?? '', planned].filter((text) => text !== '').join('; ')}
    >{`▲ ${trouble}${isEmpty ? ' (empty)' : ''}`}</span>
  );
}
