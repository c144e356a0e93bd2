import { isId } from '../../src/core/cell/ids.ts';
import { windowText } from '../../src/core/host/drain-window.ts';
import { answerText } from '../../src/core/host/fences.ts';
import { allocatable } from '../../src/core/host/host.ts';
import type { AllocationStatus, HostStatus } from '../../src/wire/api/monitor-api.ts';
import { ago, cores, duration, gpus, size, usedOf } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { allocationColumns } from '../output/allocations.ts';
import { printAnswer, tableWidth } from '../output/output.ts';
import { formatTable } from '../output/table.ts';
import { known } from './host-eligibility.ts';
import { stateOf } from './hosts.ts';

/** One host: what it has, whether it takes work and why not, and what is placed there. */
export async function showHost(context: Context, id: string): Promise<number> {
  const api = await context.api();
  if (!isId(id)) throw usageError(`"${id}" is no name of a host`, 'moorage hosts');
  const [host, { allocations }] = await Promise.all([
    known(api, id, api.host(id)),
    api.allocations({ host: id }),
  ]);
  await printAnswer(
    context,
    { ...host, placed: allocations },
    {
      name: id,
      text: () => render(context, host, allocations),
    },
  );
  return EXIT.ok;
}

function render(context: Context, status: HostStatus, placed: readonly AllocationStatus[]): string {
  const nowMs = context.terminal.nowMs();
  const { host } = status;
  const lines = [
    `${host.id}: ${stateOf(status, nowMs)}`,
    ...eligibilityLines(status, nowMs),
    `  seen ${status.asOfMs === null ? 'never' : `${ago(nowMs, status.asOfMs)} ago`}, at ${host.address}, version ${host.agentVersion}, incarnation ${String(host.incarnation)}`,
    ...amountLines(status),
    ...Object.entries(host.attributes)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `  ${name}=${value}`),
  ];
  const table =
    placed.length === 0
      ? 'nothing is placed there\n'
      : formatTable(allocationColumns(nowMs), placed, tableWidth(context));
  return `${lines.join('\n')}\n\n${table}`;
}

function eligibilityLines({ eligibility }: HostStatus, nowMs: number): readonly string[] {
  if (eligibility === null) return [];
  const { by, sinceMs, reason, drainDeadlineMs, window, fences = {} } = eligibility;
  const planned = window === undefined ? [] : [`  ${windowText(window)}`];
  const fenced = Object.entries(fences).map(([name, answer]) => `  fence ${answerText(name, answer, nowMs)}`);
  if (by === '') return planned;
  const until = drainDeadlineMs === undefined ? '' : `, until in ${duration(drainDeadlineMs - nowMs)}`;
  return [
    `  since ${ago(nowMs, sinceMs)} ago by ${by}${reason === '' ? '' : `: ${reason}`}${until}`,
    ...fenced,
    ...planned,
  ];
}

function amountLines({ host, used, gpuUsedMilli }: HostStatus): readonly string[] {
  const has = allocatable(host);
  const models = [...new Set(host.gpuModels)].join(', ');
  const devices = host.gpuModels.length;
  return [
    `  given away: cpu ${usedOf(used.cpuMilli, has.cpuMilli, cores)}, memory ${usedOf(used.memoryMib, has.memoryMib, size)}, disk ${usedOf(used.diskMib, has.diskMib, size)}` +
      (devices === 0 ? '' : `, gpu ${gpus(gpuUsedMilli)}/${String(devices)} (${models})`),
    ...Object.entries(has.scalars).map(
      ([name, amount]) => `  ${name}: ${String(used.scalars[name] ?? 0)}/${String(amount)}`,
    ),
  ];
}
