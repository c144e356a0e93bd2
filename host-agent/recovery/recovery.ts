/**
 * How an agent finds its tasks after a crash, before it serves anything:
 *
 * 1. `findings.ts` lists the folders `attempts/<id>.<task>.<n>` and reads `allocations/<id>/spec.json` of the state folder. An
 *    allocation folder goes away if its start was never acknowledged (no record, no attempt) or its id is fenced.
 * 2. Attempts whose allocation record cannot be read are kept by `orphans.ts` until an order says what they are.
 * 3. This file claims in the ledger what runs already, and hands each allocation to an `AllocationRun`, with the boot id under
 *    which it was accepted: under another boot nothing is adopted, and its end is `host-reboot`.
 * 4. Of the last attempt of each task the files say how far it came (`tasks/attempt.ts`): asked, claimed by a shim, started,
 *    ended. A shim is adopted if a process with the number, start time and boot id of its claim lives; if not, what it left
 *    is killed and the end is `shim-died`. From then on the shim's files and events are followed, as for a new task.
 * 5. Signals that were recorded and not sent are sent; ports and addresses are leased to what still has them.
 *
 * `docs/host-agent.md` ("When the agent starts again") has what is done with each finding.
 */
import { TICKET_TTL_MS } from '../../src/core/quota/ticket.ts';
import { attemptName, execName, parseAttemptName } from '../../src/wire/host-files/attempt-files.ts';
import type { FoundAllocation } from './findings.ts';
import { findAll } from './findings.ts';
import { AllocationRun } from '../allocations/allocations.ts';
import { attemptFolder } from '../tasks/attempt.ts';
import type { AgentContext } from '../agent-context.ts';

/** Adopted at once: each looks at a handful of files. */
const RECOVERIES_MAX = 32;

/** Takes over everything that an earlier agent left. @returns ends the listening to what happens from then on */
export async function adoptAll(context: AgentContext): Promise<() => void> {
  const { ports, table, journal, orphans } = context;
  const found = await findAll(ports, journal);
  orphans.add(found.orphans);
  holdPlaces(context, found.allocations);
  for (let i = 0; i < found.allocations.length; i += RECOVERIES_MAX)
    await Promise.all(found.allocations.slice(i, i + RECOVERIES_MAX).map((one) => adopt(context, one)));
  return ports.processes.onEvent((attempt) => {
    const id = parseAttemptName(attempt)?.allocation;
    if (id !== undefined) table.get(id)?.wake();
  });
}

/**
 * First what lies on the machine, then what was accepted and has not begun; nothing starts before both are counted. Which
 * allocations are preempted is not known yet: what does not fit beside them waits for their release, as before the crash.
 * On a host that was made smaller since, what would not fit even alone would wait for ever: it counts like what runs there.
 */
function holdPlaces({ table }: AgentContext, found: readonly FoundAllocation[]): void {
  const { ledger } = table;
  const waits = ({ spec, attempts }: FoundAllocation): boolean =>
    attempts.size === 0 && ledger.fitsAlone(spec.allocation);
  for (const one of found) if (!waits(one)) ledger.adopt(one.spec.allocation);
  for (const one of found.filter(waits)) {
    const { allocation } = one.spec;
    if (ledger.admit(allocation, allocation.evicts ?? []) !== null) ledger.hold(allocation);
  }
}

async function adopt(context: AgentContext, found: FoundAllocation): Promise<void> {
  const { ports, table, settings, journal } = context;
  const { spec } = found;
  const run = new AllocationRun(ports, table, settings, spec);
  if (spec.jti !== undefined && journal.ticketUseOf(spec.jti) === undefined)
    await journal
      .recordStart(spec.allocation.epoch, {
        jti: spec.jti,
        digest: spec.requestDigest,
        expiresMs: spec.acceptedAtMs + TICKET_TTL_MS,
      })
      // Known in memory now; the journal goes on trying to write it.
      .catch((error: unknown) => ports.log.error({ error }, 'a used ticket is not recorded yet'));
  await run.recover(found.attempts);
  if (!run.ended)
    for (const { task, attemptNumber } of run.tasks)
      if (attemptNumber > 0) await replaySignals(context, attemptName(run.id, task.name, attemptNumber));
  const { allocation } = spec;
  // A state folder of before has no leases, and a port whose holder was released may still have one.
  await (
    run.isReleased ? context.leases.release(allocation, spec) : context.leases.hold(allocation, spec)
  ).catch((error: unknown) =>
    ports.log.error({ error }, 'what a task has that was taken over is not leased to it'),
  );
  if (run.isReleased) table.ledger.release(run.id);
  else if (run.evicted) table.ledger.markPreempted(run.id);
  table.add(run);
}

/** Of the attempt, and of the commands in it. */
async function replaySignals({ signals, disk }: AgentContext, attempt: string): Promise<void> {
  await signals.replay(attempt);
  for (const commandId of await disk.list(`${attemptFolder(attempt)}/exec`))
    await signals.replay(execName(attempt, commandId));
}
