import type { Distribution } from '../../sim/omega/workload/distribution.ts';
import { meanOf } from '../../sim/omega/workload/distribution.ts';
import { CELLS, meanCpuMilli } from '../../sim/omega/workload/cells.ts';
import type { ClassLoad } from '../../sim/omega/workload/workload.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';

interface CellRow {
  readonly name: string;
  readonly title: string;
  readonly hosts: number;
  readonly batch: ClassSummary | null;
  readonly service: ClassSummary | null;
}

interface ClassSummary {
  readonly gapSeconds: number;
  readonly tasks: number;
  readonly runtimeSeconds: number;
  readonly cpuMilli: number;
}

/** The cells that Omega's experiments run on, with the means of their load. */
export async function simCells(context: Context): Promise<number> {
  const rows = Object.entries(CELLS).map(([name, { title, cell, load }]): CellRow => ({
    ...{ name, title, hosts: cell.hosts.reduce((sum, { count }) => sum + count, 0) },
    ...{ batch: summary(load.batch), service: summary(load.service) },
  }));
  await printList(context, {
    ...{ answer: { cells: rows, distributions: CELLS }, rows, columns: COLUMNS },
    ...{ nameOf: (row: CellRow) => row.name, empty: 'no cells' },
  });
  return EXIT.ok;
}

function summary(load: ClassLoad | null): ClassSummary | null {
  if (load === null) return null;
  const mean = (distribution: Distribution): number => Number(meanOf(distribution).toPrecision(4));
  return {
    ...{
      gapSeconds: mean(load.gapSeconds),
      tasks: mean(load.tasks),
      runtimeSeconds: mean(load.runtimeSeconds),
    },
    cpuMilli: Math.round(meanCpuMilli(load.shapes)),
  };
}

const describe = (of: ClassSummary | null): string =>
  of === null
    ? ''
    : `every ${String(of.gapSeconds)} s, ${of.tasks.toFixed(0)} tasks of ${String(of.cpuMilli)}m, ${of.runtimeSeconds.toFixed(0)} s`;

const COLUMNS: readonly Column<CellRow>[] = [
  { title: 'CELL', cell: (row) => row.name },
  { title: 'HOSTS', cell: (row) => String(row.hosts), align: 'right' },
  { title: 'BATCH (MEANS)', cell: (row) => describe(row.batch) },
  { title: 'SERVICE (MEANS)', cell: (row) => describe(row.service) },
  { title: 'WHAT', cell: (row) => row.title },
];
