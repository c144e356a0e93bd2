import { SchedulerClient } from '../../../../src/clients/scheduler-client.ts';
import type { Job, JobRecord } from '../../../../src/core/cell/job.ts';
import { slotName } from '../../../../src/core/cell/ids.ts';
import type { SchedulerSettings } from '../../../../schedulers/policies/options.ts';
import type { PlanAct, SchedulerPlan, SchedulerPlanRequest } from '../../../../src/wire/plan/plan.ts';
import { roleCodec } from '../../../../src/wire/records/records.ts';
import { CellWorld, keys } from '../cell-world.ts';

export const SAME_CELL: SchedulerPlanRequest['cell'] = {
  hostsLost: [],
  hostsAdded: [],
  placed: [],
  freed: [],
};

/** A cell whose schedulers are asked for plans. */
export class PlanWorld extends CellWorld {
  /** A scheduler that takes up its work. */
  async started(settings: Partial<SchedulerSettings> & { readonly id: string }): Promise<void> {
    const { scheduler } = await this.scheduler(settings);
    await this.until(() => this.schedulersAlive().includes(settings.id), 'its registration');
    await this.until(() => !scheduler.isBusy, 'it is ready');
  }

  async planOf(scheduler: string, request: Partial<SchedulerPlanRequest>): Promise<SchedulerPlan> {
    const role = this.under(keys.roles)
      .map(({ value }) => roleCodec.decode(value))
      .find(({ id }) => id === scheduler);
    const client = new SchedulerClient(this.network.client('m1'));
    const whole = { cell: SAME_CELL, evicted: [], affected: false, ...request };
    let answer: SchedulerPlan | null = null;
    let failure: unknown = null;
    client.plan(role?.address ?? '', whole, 60_000).then(
      (plan) => (answer = plan),
      (error: unknown) => (failure = error ?? new Error('failed')),
    );
    await this.until(() => answer !== null || failure !== null, 'the plan');
    if (failure !== null) throw failure as Error;
    return answer as unknown as SchedulerPlan;
  }

  recordOf(job: Job, version: number): JobRecord {
    return { job, version, desired: 'run', submittedAtMs: this.clock.nowMs() };
  }

  /** All that the store holds, but for the sessions that are renewed. */
  stored(): string {
    return JSON.stringify(this.under('').map(({ key, value, modRevision }) => [key, value, modRevision]));
  }

  /** What hosts were told so far. */
  ordered(): number {
    return [...this.hosts.values()].reduce((sum, { orders, stops }) => sum + orders.length + stops.length, 0);
  }

  /** Lets time pass until nothing changes any more. */
  async quiet(): Promise<void> {
    for (let before = ''; before !== this.stored();) {
      before = this.stored();
      await this.clock.advance(40_000);
    }
  }

  /** `web[0]@h1` of each running allocation. */
  placesOf(job: string): readonly string[] {
    return this.running()
      .filter((report) => report.job === job)
      .map(({ group, index, host }) => `${slotName(job, group, index)}@${host}`)
      .sort();
  }
}

/** Where the job's allocations are when all is done. @param before where they were */
export function placesAfter(before: readonly string[], acts: readonly PlanAct[]): readonly string[] {
  const places = new Set(before);
  for (const { act, slot, host } of acts) {
    if (act === 'stop') places.delete(`${slot}@${host}`);
    if (act === 'start') places.add(`${slot}@${host}`);
  }
  return [...places].sort();
}
