/**
 * Orders to hosts, and the permission to start.
 *
 * - This file: every start that a host obeyed has a good ticket for it (I36 to I39, I43, I44, I46).
 * - `orders.ts`: older orders are refused, and the same order gets the same answer (I17, I34, I46)
 * - `grants.ts`: what arbiters grant stays within the quotas (I40, I41)
 */
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import type { TicketBody } from '../../../src/core/quota/ticket.ts';
import { claimOf } from '../../../src/core/quota/ticket.ts';
import type { Digest } from '../../../src/ports/crypto.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { OrderRecord, RecordedHistory, Stamp } from '../../history/history.ts';
import type { OrderFact } from '../../history/host-facts.ts';
import { workOf } from './orders.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** ε of I36, repeated here: a checker must not take the bound from the code that it checks. */
const TOLERANCE_MS = 2_000;
/** A ticket this far inside its time is good on every clock that is right. */
const MARGIN_MS = 1_000;

type StartOrder = OrderRecord & { readonly order: OrderFact & { readonly kind: 'start' } };

interface Ticketing {
  /** Hosts whose clock was set or ran wrong at some time. */
  readonly clocksMoved: ReadonlySet<string>;
  /** null: launches are not compared with tickets. */
  readonly digest: Digest | null;
}

/**
 * I36 to I39 and I44 for every start that a host obeyed, I43 for every one that it refused though its ticket was good, and I46 for the
 * ids of tickets.
 */
export function checkTickets(
  history: RecordedHistory,
  run: RunIndex,
  { digest }: Pick<Ticketing, 'digest'>,
  findings: Findings,
): void {
  const ticketing: Ticketing = { digest, clocksMoved: movedClocks(history) };
  checkJtis(history, findings);
  const latest = new Map<string, number>();
  const used = new Map<string, StartOrder>();
  const obeyed = new Set<string>();
  for (const record of history.orders) {
    const { order } = record;
    if (order.kind !== 'start') continue;
    const start = record as StartOrder;
    const id = `${order.host} ${order.request.allocation.id}`;
    const isObeyed = record.answer?.fact.status === 200;
    const highWaterMs = latest.get(order.host) ?? 0;
    // The saved answer to a start that was obeyed before needs no ticket any more.
    if (isObeyed && !obeyed.has(id)) checkObeyed(start, highWaterMs, used, ticketing, findings);
    if (!isObeyed) checkRefused(start, ticketing, findings);
    if (isObeyed) obeyed.add(id);
    if (isObeyed) latest.set(order.host, Math.max(highWaterMs, order.hostNowMs));
  }
  checkForks(history, run, ticketing, findings);
}

function checkObeyed(
  start: StartOrder,
  highWaterMs: number,
  used: Map<string, StartOrder>,
  ticketing: Ticketing,
  findings: Findings,
): void {
  const { order } = start;
  const { ticket } = order;
  const { id } = order.request.allocation;
  const wrong = (invariant: string, detail: string, ...more: Stamp[]): void =>
    findings.prove(invariant, id, `${order.host} obeyed a start ${detail}`, [...more, start] as unknown as [
      Stamp,
    ]);
  if (ticket === null) return wrong('I44', 'without a good ticket');
  const nowMs = Math.max(order.hostNowMs, highWaterMs);
  if (nowMs > ticket.expiresMs + TOLERANCE_MS)
    wrong('I36', `${String(nowMs - ticket.expiresMs)} ms after its ticket's end`);
  // The host's own high-water mark counts, too: a clock that was ahead once has raised it for good, which orders show only in part.
  if (nowMs < ticket.notBeforeMs - TOLERANCE_MS && !ticketing.clocksMoved.has(order.host))
    wrong('I36', "before its ticket's begin");
  if (ticket.aud !== order.host || ticket.hostIncarnation !== order.incarnation)
    wrong('I37', `with a ticket for ${ticket.aud}, incarnation ${String(ticket.hostIncarnation)}`);
  const differs = differenceOf(ticket, order, ticketing);
  if (differs !== null) wrong('I39', `whose ${differs} is not the ticket's`);
  const before = used.get(ticket.jti);
  if (before !== undefined && workOf(before.order) !== workOf(order))
    wrong('I38', `with ticket ${ticket.jti}, which was used before`, before);
  used.set(ticket.jti, start);
}

/** A host verifies a ticket by itself, whatever else is unreachable. */
function checkRefused(start: StartOrder, ticketing: Ticketing, findings: Findings): void {
  const { order, answer } = start;
  const { ticket } = order;
  if (ticket === null || answer === null || !(answer.fact.code ?? '').startsWith('ticket-')) return;
  // A ticket that was used for another start, or a clock that was ahead before, is a good reason.
  if (answer.fact.code === 'ticket-used' || answer.fact.code === 'ticket-expired') return;
  const inTime =
    order.hostNowMs > ticket.notBeforeMs + MARGIN_MS && order.hostNowMs < ticket.expiresMs - MARGIN_MS;
  const forHere = ticket.aud === order.host && ticket.hostIncarnation === order.incarnation;
  if (inTime && forHere && differenceOf(ticket, order, ticketing) === null)
    findings.prove(
      'I43',
      order.request.allocation.id,
      `${order.host} refused a good ticket: ${answer.fact.code ?? ''}`,
      [start],
    );
}

/** I44: before a shim there was an order with a good ticket for just this allocation. */
function checkForks(history: RecordedHistory, run: RunIndex, ticketing: Ticketing, findings: Findings): void {
  const judged = new Set<string>();
  for (const { seq, atMs, fact } of history.hosts) {
    if (fact.kind !== 'claimed' && fact.kind !== 'started') continue;
    const id = parseAttemptName(fact.attempt)?.allocation ?? fact.attempt;
    if (judged.has(`${fact.host} ${id}`)) continue;
    judged.add(`${fact.host} ${id}`);
    const orders = run.ordersOf.get(id) ?? [];
    const isPermitted = orders.some(
      ({ order, seq: ordered }) =>
        order.kind === 'start' &&
        ordered < seq &&
        order.host === fact.host &&
        order.ticket !== null &&
        order.ticket.aud === fact.host &&
        differenceOf(order.ticket, order, ticketing) === null,
    );
    if (!isPermitted)
      findings.prove('I44', id, `was started on ${fact.host} without a ticket for it`, [{ seq, atMs }]);
  }
}

function checkJtis(history: RecordedHistory, findings: Findings): void {
  const given = new Map<string, Stamp>();
  for (const grant of history.grants) {
    const before = given.get(grant.fact.body.jti);
    if (before !== undefined)
      findings.prove('I46', grant.fact.body.jti, 'two tickets have this id', [before, grant]);
    given.set(grant.fact.body.jti, grant);
  }
}

function movedClocks(history: RecordedHistory): ReadonlySet<string> {
  const moved = history.nemesis.filter(({ fact }) => fact.kind.startsWith('clock-'));
  return new Set(moved.flatMap(({ fact }) => fact.targets));
}

/** @returns the first part of the request that is not as the ticket says */
function differenceOf(
  ticket: TicketBody,
  { request }: OrderFact & { readonly kind: 'start' },
  { digest }: Ticketing,
): string | null {
  const { allocation, launch } = request;
  for (const part of ['namespace', 'job', 'scheduler'] as const)
    if (ticket[part] !== allocation[part]) return part;
  if (canonicalJson(ticket.epoch) !== canonicalJson(allocation.epoch)) return 'epoch';
  if (canonicalJson(ticket.claim) !== canonicalJson(claimOf(allocation))) return 'claim';
  if (digest !== null && ticket.commandDigest !== digest(canonicalJson(launch))) return 'command';
  return null;
}
