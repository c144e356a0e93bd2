import { isId } from '../../src/core/ids.ts';
import { allocatable } from '../../src/core/host.ts';
import type { EligibilityRequest, HostStatus } from '../../src/wire/monitor-api.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { printList, printValue } from '../output/print.ts';
import type { Column } from '../output/table.ts';
import { ago, cores, gpus, percent, size } from '../output/words.ts';
import { ProblemError } from '../../src/wire/problem.ts';

export async function hosts(context: Context): Promise<number> {
  const { terminal, output } = context;
  const answer = await (await context.api()).hosts();
  await printList(terminal, output, {
    answer,
    rows: answer.hosts,
    columns: [...columns(terminal.nowMs()), ...(context.wide ? WIDE : [])],
    nameOf: (row) => row.host.id,
    empty: 'no hosts; start one with: moorage agent --etcd ADDRESS',
  });
  if (answer.incomplete && output === 'table')
    terminal.err('incomplete: this monitor started a moment ago and has not heard of every host yet\n');
  return 0;
}

function columns(nowMs: number): Column<HostStatus>[] {
  return [
    { title: 'HOST', cell: (row) => row.host.id },
    { title: 'STATE', cell: stateOf },
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

const LIMITS = 'limits.';

/** What tasks are counted for and not held to: `cpu,memory`. Unknown when the host does not say. */
function notEnforced({ host }: HostStatus): string {
  const limits = Object.entries(host.attributes).filter(([name]) => name.startsWith(LIMITS));
  if (limits.length === 0) return '?';
  const none = limits.filter(([, how]) => how === 'none').map(([name]) => name.slice(LIMITS.length));
  return none.sort().join(',');
}

function attributesOf({ host }: HostStatus): string {
  return Object.entries(host.attributes)
    .filter(([name]) => !name.startsWith(LIMITS))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join(',');
}

function stateOf(row: HostStatus): string {
  const verdict = row.eligibility?.state ?? 'ready';
  const marks = [row.alive ? '' : 'silent', row.staleSinceMs === null ? '' : 'stale'].filter(
    (mark) => mark !== '',
  );
  return marks.length === 0 ? verdict : `${verdict} (${marks.join(', ')})`;
}

function used(
  row: HostStatus,
  amount: 'cpuMilli' | 'memoryMib' | 'diskMib',
  show: (amount: number) => string,
): string {
  const whole = allocatable(row.host)[amount];
  return `${show(row.used[amount])}/${show(whole)} ${percent(row.used[amount], whole)}`.trimEnd();
}

function gpuUse(row: HostStatus): string {
  const devices = row.host.gpuModels.length;
  return devices === 0 ? '' : `${gpus(row.gpuUsedMilli)}/${String(devices)}`;
}

const VERDICTS = { drain: 'draining', ready: 'ready', cordon: 'cordoned' } as const;
export type HostVerb = keyof typeof VERDICTS;

/** Gives a verdict on a host: whether it takes new work, and whether what runs there should move away. */
export async function judgeHost(
  context: Context,
  verb: HostVerb,
  host: string,
  reason: string,
): Promise<number> {
  const { terminal, output } = context;
  if (!isId(host)) throw usageError(`"${host}" is no name of a host`, 'moorage hosts');
  const body: EligibilityRequest = { state: VERDICTS[verb], reason };
  const api = await context.api();
  const answer = await api.setEligibility(host, body).catch(async (error: unknown) => {
    if (!(error instanceof ProblemError) || error.problem.status !== 404) throw error;
    const list = await api.hosts();
    const { didYouMean } = await import('../../src/wire/suggest.ts');
    const meant = didYouMean(
      host,
      list.hosts.map((row) => row.host.id),
    );
    throw new CliError(EXIT.usage, `there is no host "${host}"${meant}`, 'moorage hosts', error);
  });
  if (output === 'json' || output === 'yaml') await printValue(terminal, output, answer);
  else if (output === 'name') terminal.out(`${host}\n`);
  else terminal.out(`${host} is ${VERDICTS[verb]}\n`);
  return 0;
}
