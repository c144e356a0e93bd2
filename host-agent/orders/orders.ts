/**
 * Orders of schedulers. What is checked between a start order and the fork of a process, in this order:
 *
 * 1. May the caller give it: its right, and for whom (`orderer.ts`, called by the routes; `delegations.ts`: what a
 *    monitor does inside a task).
 * 2. Is the order a repeated one? Then it is answered with how the allocation stands; another order under the same id is refused.
 * 3. `admission.ts`: is it for this host; is its ticket valid (signature, host and incarnation, time, equality with the order);
 *    is its epoch not old; is its id not fenced; is the ticket not used for another start. Is an epoch that is ahead of all that
 *    the host has seen one of the store's (`epochs.ts`)?
 * 4. Does the host's operator allow what its tasks ask (`policy.ts`)?
 * 5. The machine: what leaked here, the disk's faults and free space, foreign processes on its ports; at most so many records.
 * 6. Does its claim fit the host's ledger (`allocations/local-ledger.ts`), without the victims that it names?
 * 7. Its ports, addresses and user are leased (`leases/`). Now the start is recorded durably and answered: accepted.
 * 8. The allocation waits (`allocations/allocations.ts`, `#begin`) until its victims are gone and what lies on the machine
 *    leaves room for it; then its files are fetched, or its start fails.
 * 9. Each task's driver prepares its attempt, and may refuse it (`tasks/tasks.ts`, `#write`). Then a shim is asked for, which
 *    forks the task.
 *
 * A refusal at 1 to 7 is the answer to the order (`StartRefusal`), after 7 it is how the allocation ended. `stop-orders.ts` stops
 * and removes; `commands.ts` runs a command in a task and sends signals.
 */
import type { AllocationReport } from '../../src/core/host/report.ts';
import { DiskError } from '../../src/ports/disk.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { FINAL_REFUSALS } from '../../src/wire/api/host-api.ts';
import type { AllocationSpec } from '../../src/wire/host-files/host-files.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { LogFields } from '../../src/ports/telemetry.ts';
import { specFile } from '../../src/wire/host-files/host-files.ts';
import type { Problem } from '../../src/wire/api/problem.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { AllocationRun } from '../allocations/allocations.ts';
import type { AgentContext } from '../agent-context.ts';
import type { Permit } from './admission.ts';
import { refusal } from './admission.ts';
import { checkEpoch } from './epochs.ts';
import { forbiddenIn } from './policy.ts';
import type { Lent } from '../leases/leases.ts';

/**
 * Takes the order to start, or says why not.
 * @throws ProblemError with one of START_REFUSALS
 */
export async function startAllocation(
  context: AgentContext,
  request: StartRequest,
  traceparent?: string,
): Promise<AllocationReport> {
  const requestDigest = context.admission.digestOf(request);
  const known = context.table.get(request.allocation.id);
  if (known !== undefined) {
    if (known.spec.requestDigest === requestDigest) return known.report();
    throw refusal('bad-request', 'another start was ordered under this id');
  }
  try {
    return await startUnknown(context, { request, requestDigest, traceparent });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const { code } = error.problem;
    context.ports.metrics.count('moorage_host_orders_refused_total', { code });
    const { log } = context.ports;
    if (log.isDebug === true)
      log.debug(
        { ...idsOf({ request, traceparent }), code, detail: error.problem.detail },
        'an order is refused',
      );
    if (FINAL_REFUSALS.has(code)) await fence(context, request.allocation.id, error.problem);
    throw error;
  }
}

/**
 * Before a final refusal is answered: its claim is given back then, and a copy of the order may come when there is room.
 * On a disk that takes no line the fence holds for as long as this agent lives, and is written with the next one.
 * What still runs of it is ended, unless the order was of an old epoch (I17).
 * @throws ProblemError, no final one, while something of it still runs
 */
async function fence({ journal, orphans }: AgentContext, id: string, problem: Problem): Promise<void> {
  const { code, detail, extra } = problem;
  try {
    await journal.fenceRefused(id, { code, detail, ...(extra === undefined ? {} : { extra }) });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
  if (code !== 'epoch-old') await orphans.clear(id);
}

interface Order {
  readonly request: StartRequest;
  readonly requestDigest: string;
  readonly traceparent: string | undefined;
}

function idsOf({ request, traceparent }: Pick<Order, 'request' | 'traceparent'>): LogFields {
  return { ...logIds(request.allocation, traceparent) };
}

async function startUnknown(context: AgentContext, order: Order): Promise<AllocationReport> {
  const { request, requestDigest } = order;
  const { admission, table, settings } = context;
  const permit = await admission.check(request, requestDigest);
  await checkEpoch(context, request.allocation.epoch);
  checkPolicy(context, request);
  await checkMachine(context, request);
  if (table.size >= settings.allocationsMax)
    throw refusal('no-fit', `this host keeps at most ${String(settings.allocationsMax)} allocations`);
  const short = table.ledger.admit(request.allocation, request.allocation.evicts ?? []);
  if (short !== null)
    throw refusal(
      'no-fit',
      `${short.dimension}: ${String(short.needed)} needed, ${String(short.available)} available`,
      { short },
    );
  const lent = await lease(context, request);
  return begin(context, await accept(context, order, permit, lent));
}

/** The ledger knows the ports of all that could be read; the leases also those of what could not. @returns what it was lent */
async function lease({ leases, table }: AgentContext, { allocation, launch }: StartRequest): Promise<Lent> {
  try {
    const got = await leases.lease(allocation, needsIds(launch));
    if (!('why' in got)) return got;
    throw refusal(got.what === 'port' ? 'port-taken' : 'no-fit', got.why);
  } catch (error) {
    table.ledger.release(allocation.id);
    if (!(error instanceof DiskError)) throw error;
    throw refusal('disk-full', `this host cannot keep the order: ${error.code}`);
  }
}

/** A user namespace of its own: whoever begins as root of it, and every container, where the host can make one. */
function needsIds({ tasks }: StartRequest['launch']): boolean {
  return Object.values(tasks).some(
    ({ user, image }) => user === 'root' || (image !== undefined && user === undefined),
  );
}

function checkPolicy(context: AgentContext, { allocation, launch: ordered }: StartRequest): void {
  const forbidden = forbiddenIn(ordered, allocation.namespace, context.host());
  if (forbidden === null) return;
  throw refusal(
    'not-allowed',
    `this host allows no task ${forbidden}: its operator would, with --allow ${forbidden}`,
  );
}

async function checkMachine(context: AgentContext, request: StartRequest): Promise<void> {
  const { disk, ports, settings } = context;
  if (context.isClosed())
    throw refusal(
      'leaking',
      'too much was left behind on this host: it takes no new work until that is gone',
    );
  if (disk.fault !== null) await disk.look();
  const shortage = await disk.shortage(settings.freeBytesMin);
  if (shortage !== null) throw refusal('disk-full', shortage.why);
  // What runs of it without a record has its ports itself.
  if (context.orphans.has(request.allocation.id)) return;
  const taken = await ports.processes.portsInUse(Object.values(request.allocation.ports));
  if (taken.length > 0) throw refusal('port-taken', `in use on this host: port ${taken.join(', ')}`);
}

/** From here on the order is ours: it is answered when it is durable, and not before. */
async function accept(
  context: AgentContext,
  { request, requestDigest, traceparent }: Order,
  permit: Permit | null,
  lent: Lent,
): Promise<AllocationSpec> {
  const { journal, disk, table, ports } = context;
  const { allocation, launch, commandId } = request;
  const spec: AllocationSpec = {
    allocation,
    launch,
    commandId,
    requestDigest,
    ...(permit === null ? {} : { jti: permit.jti }),
    bootId: ports.processes.bootId,
    acceptedAtMs: journal.nowMs(),
    ...lent,
    ...(request.sealed === undefined ? {} : { sealed: request.sealed }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  try {
    const recorded = await Promise.allSettled([
      journal.recordStart(allocation.epoch, permit),
      disk.publish(`allocations/${allocation.id}/spec.json`, specFile.encode(spec)),
    ]);
    for (const one of recorded) if (one.status === 'rejected') throw one.reason;
    return spec;
  } catch (error) {
    table.ledger.release(allocation.id);
    await context.leases.revoke(allocation, lent).catch(() => undefined);
    await disk.remove(`allocations/${allocation.id}`).catch(() => undefined);
    if (!(error instanceof DiskError)) throw error;
    throw refusal('disk-full', `this host cannot keep the order: ${error.code}`);
  }
}

async function begin(context: AgentContext, spec: AllocationSpec): Promise<AllocationReport> {
  const { ports, table, settings, orphans } = context;
  const run = new AllocationRun(ports, table, settings, spec);
  const orphan = orphans.take(run.id);
  table.add(run);
  if (orphan !== undefined && table.ledger.begin(run.id)) await run.recover(orphan);
  run.wake();
  return run.report();
}
