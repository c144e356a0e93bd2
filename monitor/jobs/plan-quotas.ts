import type { Allocation } from '../../src/core/cell/allocation.ts';
import { askOf } from '../../src/core/cell/ask.ts';
import { jobKeyOf, slotName } from '../../src/core/cell/ids.ts';
import type { JobRecord } from '../../src/core/cell/job.ts';
import type { NamespaceAmounts } from '../../src/core/quota/amounts.ts';
import { addAmounts, amountsOf, DIMENSIONS, maxAmounts, NO_AMOUNTS } from '../../src/core/quota/amounts.ts';
import type { JobPlan, PlanAct, PlanAnswer, PlanQuota } from '../../src/wire/plan/plan.ts';
import type { QuotaStatus } from '../../src/wire/api/quota-api.ts';
import type { LimitPorts } from '../limits/limits.ts';
import { listQuotas } from '../limits/quotas.ts';
import type { CellCopy } from '../view/view.ts';
import type { CellPlan } from './plans.ts';

/**
 * The plan with the quotas that it goes beyond.
 * @param submitted the record that it is about, which is not in the store
 */
export async function withQuotas(
  ports: LimitPorts & { readonly copy: CellCopy },
  plan: CellPlan,
  submitted?: JobRecord,
): Promise<CellPlan & Pick<PlanAnswer, 'quotas'>> {
  const { copy } = ports;
  const own = submitted === undefined ? null : jobKeyOf(submitted.job.namespace, submitted.job.name);
  const quotas = quotasOver(plan.jobs, {
    quotas: await listQuotas(ports, copy.allAllocations()),
    allocation: (namespace, job, id) => copy.allocationsByJob.of(jobKeyOf(namespace, job)).get(id)?.value,
    record: (jobKey) => (jobKey === own ? submitted : copy.jobs.get(jobKey)?.value),
  });
  return { ...plan, quotas };
}

/** What of the cell the use of quotas follows from. */
export interface PlannedCell {
  readonly quotas: readonly QuotaStatus[];
  readonly allocation: (namespace: string, job: string, id: string) => Allocation | undefined;
  /** By job key, the record as the plan has it. */
  readonly record: (jobKey: string) => JobRecord | undefined;
}

/**
 * Quotas that what is planned would go beyond: arbiters grant nothing above them, and schedulers know of none. The most that is
 * in use at one time counts, as something starts, in the order in which it would be done.
 */
export function quotasOver(jobs: readonly JobPlan[], cell: PlannedCell): readonly PlanQuota[] {
  return cell.quotas.flatMap((quota) => {
    const { namespace } = quota;
    let sum = quota.used;
    let most = NO_AMOUNTS;
    const left = new Set<string>();
    for (const plan of jobs)
      for (const act of plan.acts) {
        if (act.namespace !== namespace || act.act === 'stay') continue;
        if (act.allocation !== undefined && left.has(act.allocation)) continue;
        if (act.allocation !== undefined) left.add(act.allocation);
        sum = addAmounts(sum, amountsIn(act, cell), act.act === 'start' ? 1 : -1);
        if (act.act === 'start') most = maxAmounts(most, sum);
      }
    return DIMENSIONS.flatMap((dimension): PlanQuota[] => {
      const limit = quota[dimension];
      const wanted = most[dimension];
      return limit === null || wanted <= limit
        ? []
        : [{ namespace, dimension, limit, used: quota.used[dimension], wanted }];
    });
  });
}

function amountsIn({ namespace, job, slot, allocation: id }: PlanAct, cell: PlannedCell): NamespaceAmounts {
  const there = id === undefined ? undefined : cell.allocation(namespace, job, id);
  if (there !== undefined) return amountsOf(there);
  const groups = Object.values(cell.record(jobKeyOf(namespace, job))?.job.groups ?? {});
  const index = Number(slot.slice(slot.lastIndexOf('[') + 1, -1));
  const group = groups.find(({ name }) => slotName(job, name, index) === slot);
  if (group === undefined) return NO_AMOUNTS;
  const { resources, gpu } = askOf(group);
  const gpuMilli = gpu === null ? 0 : gpu.count * gpu.milliEach;
  return { cpuMilli: resources.cpuMilli, memoryMib: resources.memoryMib, gpuMilli, allocations: 1 };
}
