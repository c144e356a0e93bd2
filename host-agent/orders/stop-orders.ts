import type { AllocationReport } from '../../src/core/host/report.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import type { StopReason } from '../../src/wire/host-files/host-files.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { attemptName, execName } from '../../src/wire/host-files/attempt-files.ts';
import type { AllocationRun } from '../allocations/allocations.ts';
import { attemptFolder, removeAttempt } from '../tasks/attempt.ts';
import type { AgentContext } from '../agent-context.ts';
import { checkEpoch } from './epochs.ts';

const WHY: Readonly<Record<StopRequest['mode'], StopReason>> = {
  stop: 'user',
  remove: 'user',
  evict: 'evicted',
  drain: 'drain',
};

/**
 * Ends an allocation. Where the disk takes no writes it is ended all the same, and the answer is 507: it is not
 * acknowledged before it is recorded (I32).
 * @throws ProblemError `no-allocation`, `epoch-old`, `epoch-unknown`, `disk-full`, `still-running`
 */
export async function stopAllocation(
  context: AgentContext,
  id: string,
  request: StopRequest,
): Promise<AllocationReport> {
  const { journal, table, orphans, ports } = context;
  if (journal.isOld(request.epoch))
    throw new ProblemError({
      status: 409,
      code: 'epoch-old',
      detail: 'this host has seen orders of a later epoch',
    });
  await checkEpoch(context, request.epoch);
  const run = table.get(id);
  if (run === undefined) {
    const fenced = await Promise.allSettled([journal.fence(id)]);
    await orphans.clear(id);
    orPutOff(fenced);
    throw noAllocation(id);
  }
  const why = WHY[request.mode];
  if (why === 'evicted') table.ledger.markPreempted(id);
  const atMs = Math.round(ports.clock.nowMs());
  const reason = { why, cause: request.cause, commandId: request.commandId, atMs };
  orPutOff(await Promise.allSettled([journal.recordEpoch(request.epoch), run.stop(reason)]));
  return run.report();
}

/** @throws ProblemError when what was to be recorded was not */
function orPutOff(recorded: readonly PromiseSettledResult<void>[]): void {
  const failed = recorded.find((one) => one.status === 'rejected');
  if (failed === undefined) return;
  const error: unknown = failed.reason;
  if (!(error instanceof DiskError)) throw error;
  throw new ProblemError(
    {
      status: 507,
      code: 'disk-full',
      detail: `the disk of this host takes no writes (${error.code}): what is done about the order is recorded later`,
      hint: 'ask again until it is acknowledged',
    },
    error,
  );
}

/** Forgets a released allocation. @throws ProblemError `not-released`, `disk-full`, `still-running` */
export async function removeAllocation(context: AgentContext, id: string): Promise<void> {
  const { journal, table, orphans, disk } = context;
  const run = table.get(id);
  if (run !== undefined && !(run.isReleased && isTerminal(run.state)))
    throw new ProblemError({
      status: 409,
      code: 'not-released',
      detail: `allocation ${id} is ${run.state}, and not yet released`,
      hint: 'stop it first, and wait until it is released',
    });
  // First of all, and also for an id that is not known here: a start of it that arrives late must not run it.
  let fenced = await Promise.allSettled([journal.fence(id)]);
  if (run !== undefined && fenced[0].status === 'rejected') {
    // Its output may be what fills the disk.
    await removeAttempts(context, run);
    fenced = await Promise.allSettled([journal.fence(id)]);
  }
  orPutOff(fenced);
  if (run === undefined) return orphans.clear(id);
  await run.close();
  await removeAttempts(context, run);
  await disk.remove(`allocations/${id}`);
  // Known until nothing of it is left: after a fault of the disk the next removal finds it, and goes on.
  table.delete(id);
}

async function removeAttempts(context: AgentContext, run: AllocationRun): Promise<void> {
  for (const task of run.tasks) {
    const last = task.attemptNumber;
    for (let number = last; number > Math.max(0, last - context.settings.attemptsKept); number--)
      await forgetAttempt(context, attemptName(run.id, task.task.name, number));
  }
}

async function forgetAttempt({ disk, signals }: AgentContext, attempt: string): Promise<void> {
  signals.forget(attempt);
  for (const commandId of await disk.list(`${attemptFolder(attempt)}/exec`))
    signals.forget(execName(attempt, commandId));
  await removeAttempt(disk, attempt);
}

export function noAllocation(id: string): ProblemError {
  return new ProblemError({
    status: 404,
    code: 'no-allocation',
    detail: `this host has no allocation ${id}`,
  });
}
