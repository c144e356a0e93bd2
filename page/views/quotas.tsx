import type { JSX } from 'preact';
import { cores, gpus, size } from '../../src/wire/values/words.ts';
import { useCell, usePolled } from '../parts/hooks.ts';
import { Failed, Loading, Meter, Table } from '../parts/parts.ts';

const EVERY_MS = 5_000;

/** What namespaces may use, and do; and what hosts share. */
export function Quotas(): JSX.Element {
  const { client } = useCell();
  const answer = usePolled('quotas', EVERY_MS, (signal) => client.quotas({ signal }));
  const cell = usePolled('shared', EVERY_MS, (signal) => client.cell({ signal }));
  if (answer.value === null) return <Loading error={answer.error} />;
  const of = (name: string, used: number, limit: number | null, show: (amount: number) => string) =>
    limit === null ? (
      `${show(used)}, no limit`
    ) : (
      <Meter
        label={name}
        part={used}
        whole={limit}
        text={`${show(used)}/${show(limit)}, ${show(Math.max(0, limit - used))} left`}
      />
    );
  const pools = (cell.value?.shared ?? []).flatMap((resource) =>
    resource.pools.map((pool) => ({ resource, pool })),
  );
  return (
    <>
      <Failed error={answer.error} />
      <Table
        label="Quotas"
        empty="No namespace has a quota: each may use what is there."
        rows={answer.value.quotas}
        keyOf={({ namespace }) => namespace}
        columns={[
          {
            head: 'Namespace',
            cell: ({ namespace, isReadable }) => `${namespace}${isReadable ? '' : ' ▲ unreadable'}`,
          },
          { head: 'CPU', cell: ({ used, cpuMilli }) => of('CPU', used.cpuMilli, cpuMilli, cores) },
          { head: 'Memory', cell: ({ used, memoryMib }) => of('Memory', used.memoryMib, memoryMib, size) },
          {
            head: 'GPU',
            kind: 'wide',
            cell: ({ used, gpuMilli }) => of('GPU', used.gpuMilli, gpuMilli, gpus),
          },
          {
            head: 'Allocations',
            kind: 'wide',
            cell: ({ used, allocations }) => of('Allocations', used.allocations, allocations, String),
          },
        ]}
      />
      <h2>Shared by hosts</h2>
      <Table
        label="Shared resources"
        empty="Hosts share nothing that is counted."
        rows={pools}
        keyOf={({ resource, pool }) => `${resource.name} ${pool.value}`}
        columns={[
          { head: 'Resource', cell: ({ resource }) => resource.name },
          { head: 'Of', cell: ({ resource, pool }) => `${resource.by ?? 'cell'} ${pool.value}` },
          {
            head: 'Used',
            cell: ({ resource, pool }) => (
              <Meter
                label="Used"
                part={pool.used}
                whole={pool.capacity}
                text={`${String(pool.used)}/${String(pool.capacity)} ${resource.unit}, ${String(Math.max(0, pool.capacity - pool.used))} left`}
              />
            ),
          },
        ]}
      />
    </>
  );
}
