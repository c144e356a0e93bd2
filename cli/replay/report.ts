import { allocatable } from '../../src/core/host/host.ts';
import type { AllocationStatus, HostStatus } from '../../src/wire/api/monitor-api.ts';
import type { SchedulerStatus } from '../../src/wire/api/scheduler-api.ts';
import { formatTable } from '../output/table.ts';
import { SCHEDULER_COLUMNS } from '../cell/schedulers.ts';

/** What a replay found, for people and for programs. */
export interface ReplayReport {
  readonly trace: string;
  readonly list: string;
  readonly seed: number | null;
  readonly hosts: number;
  readonly pods: number;
  readonly placed: number;
  readonly waiting: number;
  readonly refused: number;
  readonly settled: boolean;
  readonly waitingReasons: readonly (readonly [reason: string, pods: number])[];
  readonly refusedReasons: readonly (readonly [reason: string, pods: number])[];
  readonly conflicts: number;
  readonly rebases: number;
  readonly submitSeconds: number;
  /** From the first placement to the last one. */
  readonly placeSeconds: number;
  readonly placementsPerSecond: number;
  readonly givenAway: readonly GivenAway[];
  readonly schedulers: readonly SchedulerStatus[];
}

export interface GivenAway {
  readonly resource: 'cpu' | 'memory' | 'gpu';
  /** Cores, GiB, devices. */
  readonly given: number;
  readonly whole: number;
}

export function givenAway(hosts: readonly HostStatus[]): GivenAway[] {
  const row = (resource: GivenAway['resource'], unit: number, of: (host: HostStatus) => [number, number]) => {
    const amounts = hosts.map(of);
    const sum = (at: 0 | 1): number => amounts.reduce((total, amount) => total + amount[at], 0) / unit;
    return { resource, given: sum(0), whole: sum(1) };
  };
  return [
    row('cpu', 1000, ({ host, used }) => [used.cpuMilli, allocatable(host).cpuMilli]),
    row('memory', 1024, ({ host, used }) => [used.memoryMib, allocatable(host).memoryMib]),
    row('gpu', 1000, ({ host, gpuUsedMilli }) => [gpuUsedMilli, 1000 * host.gpuModels.length]),
  ];
}

/** Seconds from the first to the last placement. */
export function placingSeconds(allocations: readonly AllocationStatus[]): number {
  let first = Infinity;
  let last = -Infinity;
  for (const { allocation } of allocations) {
    first = Math.min(first, allocation.createdAtMs);
    last = Math.max(last, allocation.createdAtMs);
  }
  return last > first ? (last - first) / 1000 : 0;
}

export function renderReport(report: ReplayReport): string {
  const { pods, placed, waiting, refused } = report;
  const lines = [
    `replay of ${report.list}: ${String(pods)} pods on ${String(report.hosts)} hosts, ${String(report.schedulers.length)} schedulers`,
    `  placed   ${String(placed)}  (${share(placed, pods)})`,
    `  waiting  ${String(waiting)}`,
    ...report.waitingReasons.map(([reason, count]) => `    ${String(count).padStart(5)}  ${reason}`),
    `  refused  ${String(refused)}`,
    ...report.refusedReasons.map(([reason, count]) => `    ${String(count).padStart(5)}  ${reason}`),
    `  sum      ${String(placed + waiting + refused)} of ${String(pods)}${report.settled ? '' : '  (time was up before it settled)'}`,
    `  conflicts ${String(report.conflicts)}, rebases ${String(report.rebases)}`,
    `  ${report.placementsPerSecond.toFixed(0)} placements/s over ${report.placeSeconds.toFixed(1)} s; submitted in ${report.submitSeconds.toFixed(1)} s`,
    ...report.givenAway.map(
      ({ resource, given, whole }) =>
        `  ${resource.padEnd(7)} ${given.toFixed(0)} of ${whole.toFixed(0)} ${UNIT[resource]} given away (${share(given, whole)})`,
    ),
  ];
  return `${lines.join('\n')}\n\n${formatTable(SCHEDULER_COLUMNS, report.schedulers)}`;
}

const UNIT = { cpu: 'cores', memory: 'GiB', gpu: 'devices' } as const;

function share(part: number, whole: number): string {
  return whole === 0 ? '0%' : `${((100 * part) / whole).toFixed(1)}%`;
}
