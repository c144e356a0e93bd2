import type { SharedRate } from '../../src/core/quota/shared-resource.ts';
import type { PoolStatus, SharedResourceRequest, SharedStatus } from '../../src/wire/api/cell-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer, printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { usedOf } from '../../src/wire/values/words.ts';

/** A pool with its resource. */
export interface PoolRow extends PoolStatus {
  readonly resource: SharedStatus;
}

/** What hosts share, pool by pool. */
export async function shared(context: Context): Promise<number> {
  const { shared: resources } = await (await context.api()).cell();
  await printList(context, {
    answer: { shared: resources },
    rows: poolRows(resources),
    columns: POOL_COLUMNS,
    nameOf: (row) => `${row.resource.name}/${row.value}`,
    empty: 'hosts share nothing; say what they do with: moorage shared set NAME --by host.rack --capacity N',
  });
  return EXIT.ok;
}

export function poolRows(resources: readonly SharedStatus[]): readonly PoolRow[] {
  return resources.flatMap((resource) => resource.pools.map((pool) => ({ ...pool, resource })));
}

export const POOL_COLUMNS: readonly Column<PoolRow>[] = [
  { title: 'SHARED', cell: ({ resource }) => resource.name },
  {
    title: 'BY',
    cell: ({ resource }) => (resource.isDefined ? (resource.by ?? 'the cell') : 'no longer defined'),
  },
  { title: 'POOL', cell: (row) => row.value },
  {
    title: 'USED',
    cell: ({ used, capacity, resource: { rate } }) =>
      rate === undefined ? usedOf(used, capacity, String) : `${String(capacity)} at most`,
    align: 'right',
  },
  { title: 'UNIT', cell: ({ resource }) => resource.unit },
  { title: 'HOSTS', cell: (row) => String(row.hosts), align: 'right' },
];

export interface SetSharedOptions {
  readonly by?: string;
  readonly capacity: number;
  readonly unit: string;
  readonly of: readonly string[];
  readonly rate?: SharedRate;
}

/** Replaces the definition of a shared resource. */
export async function setShared(context: Context, name: string, options: SetSharedOptions): Promise<number> {
  const { by = null, capacity, unit, rate } = options;
  if (by === null && options.of.length > 0)
    throw usageError(
      '--of names a value of an attribute: say which one',
      'moorage shared set NAME --by host.rack',
    );
  const body: SharedResourceRequest = {
    ...{ by, capacity, unit, capacities: capacitiesOf(options.of) },
    ...(rate === undefined ? {} : { rate }),
  };
  const answer = await (await context.api()).setShared(name, body);
  await printAnswer(context, answer, { text: () => `${name}\n` });
  return EXIT.ok;
}

/** Allocations keep their share until they end; jobs that ask for it wait. */
export async function removeShared(context: Context, name: string): Promise<number> {
  await (await context.api()).removeShared(name);
  context.terminal.out(`${name}\n`);
  return EXIT.ok;
}

function capacitiesOf(written: readonly string[]): Readonly<Record<string, number>> {
  const capacities: Record<string, number> = {};
  for (const text of written) {
    const [, value, amount] = /^(.+)=(\d{1,10})$/.exec(text) ?? [];
    if (value === undefined)
      throw usageError(`--of ${text}: expected VALUE=AMOUNT`, 'moorage help shared set');
    capacities[value] = Number(amount);
  }
  return capacities;
}
