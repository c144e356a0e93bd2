import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import { isLooping } from '../../src/core/slots/restarts.ts';
import { readyOf } from '../../src/core/slots/rollout.ts';
import { ago, exitText, gpuShares, portsText, resources } from '../../src/wire/values/words.ts';
import type { Column } from './table.ts';

function stateText({ report, restarts, stale }: AllocationStatus, nowMs: number): string {
  const state = report?.state ?? 'unreported';
  const shown = state === 'running' && isLooping(restarts, nowMs) ? 'looping' : state;
  return shown + (stale ? ' (stale)' : '');
}

/** Of one with health checks. */
function readyText({ report }: AllocationStatus): string {
  const ready = report === null ? null : readyOf(report);
  if (ready === null) return '';
  return ready ? 'yes' : 'no';
}

export function allocationColumns(nowMs: number): Column<AllocationStatus>[] {
  return [
    { title: 'ALLOCATION', rank: 0, cell: (row) => row.name },
    { title: 'ID', rank: 9, cell: (row) => row.allocation.id },
    { title: 'HOST', rank: 2, cell: (row) => row.allocation.host },
    { title: 'DESIRED', rank: 7, cell: (row) => row.allocation.desired },
    { title: 'STATE', rank: 1, cell: (row) => stateText(row, nowMs) },
    { title: 'READY', rank: 2, cell: (row) => readyText(row) },
    { title: 'EXIT', rank: 4, cell: (row) => exitText(row.report?.exit) },
    { title: 'TRY', rank: 8, cell: (row) => String(row.allocation.attempt), align: 'right' },
    { title: 'RESTARTS', rank: 3, cell: (row) => String(row.restarts.count), align: 'right' },
    { title: 'LAST EXIT', rank: 5, cell: (row) => exitText(row.restarts.lastExit) },
    { title: 'RESOURCES', rank: 10, cell: (row) => resources(row.allocation.resources) },
    {
      title: 'GPU',
      rank: 12,
      cell: (row) => (row.allocation.gpus.length === 0 ? '' : gpuShares(row.allocation.gpus)),
    },
    { title: 'PORTS', rank: 11, cell: (row) => portsText(row.allocation.ports) },
    { title: 'ADDRESSES', rank: 13, cell: (row) => (row.report?.addresses ?? []).join(',') },
    { title: 'SCHEDULER', rank: 14, cell: (row) => row.allocation.scheduler },
    { title: 'AGE', rank: 6, cell: (row) => ago(nowMs, row.allocation.createdAtMs) },
  ];
}
