import type { QuotaRequest, QuotaStatus } from '../../src/wire/api/quota-api.ts';
import type { Reading } from '../../src/wire/values/units.ts';
import { readCpu, readMemory } from '../../src/wire/values/units.ts';
import { QUOTA_AMOUNT_MAX } from '../../src/wire/values/bounds.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer, printList } from '../output/output.ts';
import type { Column } from '../output/table.ts';
import { cores, gpus, size, usedOf } from '../../src/wire/values/words.ts';

/** What namespaces may use, and what their allocations hold. */
export async function quotas(context: Context): Promise<number> {
  const answer = await (await context.api()).quotas();
  await printList(context, {
    answer,
    rows: answer.quotas,
    columns: COLUMNS,
    nameOf: (row) => row.namespace,
    empty: 'no namespace has a quota; give one with: moorage quota set NAMESPACE --cpu 10 --memory 64Gi',
  });
  for (const { namespace } of answer.quotas.filter(({ isReadable }) => !isReadable))
    context.terminal.err(
      `the quota of ${namespace} cannot be read, and nothing is granted there: say it again with moorage quota set ${namespace}\n`,
    );
  return EXIT.ok;
}

const COLUMNS: readonly Column<QuotaStatus>[] = [
  { title: 'NAMESPACE', cell: ({ namespace }) => namespace },
  { title: 'CPU', cell: (row) => used(row, 'cpuMilli', cores), align: 'right' },
  { title: 'MEMORY', cell: (row) => used(row, 'memoryMib', size), align: 'right' },
  { title: 'GPU', cell: (row) => used(row, 'gpuMilli', gpus), align: 'right' },
  { title: 'ALLOCS', cell: (row) => used(row, 'allocations', String), align: 'right' },
];

/** `0.5/10 5%`; without a limit `0.5`. */
function used(row: QuotaStatus, amount: keyof QuotaRequest, show: (amount: number) => string): string {
  const limit = row[amount];
  const now = row.used[amount];
  return limit === null ? show(now) : usedOf(now, limit, show);
}

/** As it was typed; what was not given has no limit. */
export interface SetQuotaOptions {
  readonly cpu?: string;
  readonly memory?: string;
  readonly gpu?: string;
  readonly allocations?: number;
}

/** Replaces the quota of a namespace. */
export async function setQuota(
  context: Context,
  namespace: string,
  options: SetQuotaOptions,
): Promise<number> {
  const body: QuotaRequest = {
    cpuMilli: limit('--cpu', options.cpu, readAllCpu),
    memoryMib: limit('--memory', options.memory, readAllMemory),
    gpuMilli: limit('--gpu', options.gpu, readGpus),
    allocations: options.allocations ?? null,
  };
  if (Object.values(body).every((limit) => limit === null))
    throw usageError(
      'a quota without a limit: name at least one of --cpu, --memory, --gpu, --allocations',
      `moorage quota set ${namespace} --cpu 10   (to take one back: moorage quota rm ${namespace})`,
    );
  const answer = await (await context.api()).setQuota(namespace, body);
  await printAnswer(context, answer, { text: () => `${namespace}\n` });
  return EXIT.ok;
}

/** The namespace may use what there is again. */
export async function removeQuota(context: Context, namespace: string): Promise<number> {
  await (await context.api()).removeQuota(namespace);
  context.terminal.out(`${namespace}\n`);
  return EXIT.ok;
}

/** A quota may be nothing at all, which no job may ask for. */
function limit(flag: string, written: string | undefined, read: (written: string) => Reading): number | null {
  if (written === undefined) return null;
  if (/^0+$/.test(written)) return 0;
  const reading = read(written);
  if (reading.ok) return reading.value;
  throw usageError(`${flag}: ${reading.text}`, 'moorage quota set --help');
}

/** A namespace may well have more bare cores than one task. */
function readAllCpu(written: string): Reading {
  return readCpu(written, QUOTA_AMOUNT_MAX, QUOTA_AMOUNT_MAX);
}

function readAllMemory(written: string): Reading {
  return readMemory(written, QUOTA_AMOUNT_MAX);
}

function readGpus(written: string): Reading {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(written)) return { ok: true, value: Math.round(Number(written) * 1000) };
  return { ok: false, text: `gpu "${written}": write devices ("4", "0.5"), to a thousandth` };
}
