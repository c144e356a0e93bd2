import { allocatable } from '../../src/core/host/host.ts';
import type { HostStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { ago, cores, duration, gpus, size, usedOf } from '../../src/wire/values/words.ts';

export async function hosts(context: Context): Promise<number> {
  const { terminal } = context;
  const answer = await (await context.api()).hosts();
  await printList(context, {
    answer,
    rows: answer.hosts,
    columns: [...columns(terminal.nowMs()), ...(context.wide ? WIDE : [])],
    nameOf: (row) => row.host.id,
    empty: 'no hosts; start one with: moorage agent --etcd ADDRESS',
  });
  if (answer.incomplete && context.output === 'table')
    terminal.err('incomplete: this monitor started a moment ago and has not heard of every host yet\n');
  return 0;
}

function columns(nowMs: number): Column<HostStatus>[] {
  return [
    { title: 'HOST', cell: (row) => row.host.id },
    { title: 'STATE', cell: (row) => stateOf(row, nowMs) },
    { title: 'SEEN', cell: (row) => (row.asOfMs === null ? 'never' : `${ago(nowMs, row.asOfMs)} ago`) },
    { title: 'ALLOCS', cell: (row) => String(row.allocations), align: 'right' },
    { title: 'CPU', cell: (row) => used(row, 'cpuMilli', cores), align: 'right' },
    { title: 'MEMORY', cell: (row) => used(row, 'memoryMib', size), align: 'right' },
    { title: 'GPU', cell: gpuUse, align: 'right' },
    { title: 'MODEL', cell: (row) => [...new Set(row.host.gpuModels)].join(',') },
    { title: 'ADDRESS', cell: (row) => row.host.address },
  ];
}

const WIDE: readonly Column<HostStatus>[] = [
  { title: 'DISK', cell: (row) => used(row, 'diskMib', size), align: 'right' },
  { title: 'PORTS', cell: ({ host }) => `${String(host.portRange.first)}-${String(host.portRange.last)}` },
  { title: 'NOT-ENFORCED', cell: notEnforced },
  { title: 'VERSION', cell: (row) => row.host.agentVersion },
  { title: 'ATTRIBUTES', cell: attributesOf },
];

/** Attributes that say how a host holds its tasks: to limits, and apart from each other. */
const HOLDS = ['limits.', 'isolation.'];

/**
 * What the host does not hold its tasks to, such as `cpu,disk (watched),user`. `watched`: a task over its limit is ended when
 * the agent notices. Unknown when the host reports nothing of it.
 */
function notEnforced({ host }: HostStatus): string {
  const held = Object.entries(host.attributes).filter(([name]) => isHeld(name));
  if (held.length === 0) return '?';
  const weak = held.filter(([, how]) => how === 'none' || how === 'watched');
  const names = weak.map(
    ([name, how]) => `${name.slice(name.indexOf('.') + 1)}${how === 'watched' ? ' (watched)' : ''}`,
  );
  return names.sort().join(',');
}

function isHeld(attribute: string): boolean {
  return HOLDS.some((prefix) => attribute.startsWith(prefix));
}

function attributesOf({ host }: HostStatus): string {
  return Object.entries(host.attributes)
    .filter(([name]) => !isHeld(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',');
}

export function stateOf(row: HostStatus, nowMs: number): string {
  const state = row.eligibility?.state ?? 'ready';
  const marks = [
    state === 'draining' && row.allocations === 0 ? 'empty' : '',
    row.alive ? '' : 'silent',
    row.staleSinceMs === null ? '' : 'stale',
    windowMark(row, nowMs),
    row.verdictAtMs === undefined ? '' : `lost in ${duration(row.verdictAtMs - nowMs)}`,
  ].filter((mark) => mark !== '');
  return marks.length === 0 ? state : `${state} (${marks.join(', ')})`;
}

/** What a planned drain does next with the host. */
function windowMark({ eligibility }: HostStatus, nowMs: number): string {
  const window = eligibility?.window;
  if (window === undefined) return '';
  const { atMs, endsAtMs } = window;
  if (eligibility?.state !== 'draining')
    return atMs > nowMs ? `drained in ${duration(atMs - nowMs)}` : 'to be drained';
  return endsAtMs === undefined ? '' : `ready in ${duration(endsAtMs - nowMs)}`;
}

function used(
  row: HostStatus,
  amount: 'cpuMilli' | 'memoryMib' | 'diskMib',
  show: (amount: number) => string,
): string {
  return usedOf(row.used[amount], allocatable(row.host)[amount], show);
}

function gpuUse(row: HostStatus): string {
  const devices = row.host.gpuModels.length;
  return devices === 0 ? '' : `${gpus(row.gpuUsedMilli)}/${String(devices)}`;
}
