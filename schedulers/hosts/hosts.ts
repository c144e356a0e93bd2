/**
 * What a scheduler orders hosts to do, and what they report of it. All calls go through `calls/calls.ts`, which bounds them
 * and keeps silent hosts from holding up the others.
 *
 * 1. `start-queue.ts` holds committed allocations back while the scheduler is busy deciding.
 * 2. `starter.ts` orders the host to start an allocation, and reads back what became of an order without an answer. A
 *    refusal returns the claim and avoids the host for a while. It also orders the victims of a preemption to stop.
 * 3. `reports.ts` follows what hosts report of owned jobs, through one monitor's merged stream or from the hosts.
 * 4. `observer.ts` takes each report: it updates the allocation, and has it released when its host says so.
 * 5. `stopper.ts` marks allocations to stop in the store, and then orders their hosts to stop them.
 *
 * This file holds what these files and other rooms share: the order to stop, and the question about one allocation.
 */
import type { StopOutcome } from '../../src/clients/host-client.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Term } from '../state/state.ts';

export const ORDER_RETRY = { firstMs: 200, maxMs: 5_000 };

/**
 * Orders a host to stop an allocation. The epoch is made when the order is sent: a host that saw a later fencing counter refuses
 * the epoch of the placement for ever.
 *
 * @param counter the smallest counter that the order may carry
 * @param isWanted asked when the order is sent, which may be long after this call
 * @returns undefined: it was not sent, and will not be
 */
export function orderStop(
  { cell, hosts, hostCalls, incarnation }: Term,
  { host, id, counter }: { readonly host: string; readonly id: string; readonly counter: number },
  order: Omit<StopRequest, 'epoch'>,
  isWanted: () => boolean,
): Promise<StopOutcome | undefined> {
  return hostCalls.order(host, isWanted, (address) => {
    const known = cell.book.get(host).ledger.counter;
    return hosts.stop(address, id, {
      ...order,
      epoch: { incarnation, counter: Math.max(known, counter) },
    });
  });
}

/**
 * Asks the host about one allocation, when the turn of an order has come.
 * @param isWanted asked when the question is sent
 * @returns null: the host has no record of it; `unknown`: it did not answer, or was not asked
 */
export async function readFromHost(
  { hosts, hostCalls }: Term,
  { host, id }: Pick<Allocation, 'host' | 'id'>,
  isWanted: () => boolean,
): Promise<AllocationReport | null | 'unknown'> {
  try {
    const report = await hostCalls.askFirst(host, isWanted, (address) => hosts.get(address, id));
    return report === undefined ? 'unknown' : report;
  } catch (error) {
    if (!isCallError(error)) throw error;
    return 'unknown';
  }
}

export function isCallError(error: unknown): error is HttpError | ProblemError {
  return error instanceof HttpError || error instanceof ProblemError;
}
