import { FINAL_REFUSALS } from '../../../src/wire/api/host-api.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { HostFact, OrderAnswer, OrderFact } from '../../history/host-facts.ts';
import type { OrderRecord, RecordedHistory, Stamp } from '../../history/history.ts';

interface Presence {
  readonly host: string;
  /** Processes, ports and addresses. */
  readonly things: Set<string>;
}

/**
 * When each allocation had left its host. By the host's kernel: when the last of its processes, ports and addresses was gone, unless it
 * comes back (a restart) or its host reports later that it is not released. An attempt that a shim claimed and did not begin left with
 * the claim. For an allocation that never began: when its host answered the order by which it was not to begin (stop 200, 404
 * or 507, removal 204, a start refused as `stopped`); if the agent died before it answered, when the order came, unless a later answer
 * proves that it was not carried out. Absent: it has not left, or that is unknown.
 * @param history of the whole run
 */
export function departuresIn(history: Pick<RecordedHistory, 'hosts' | 'orders'>): ReadonlyMap<string, Stamp> {
  const there = new Map<string, Presence>();
  const left = new Map<string, Stamp>();
  const seen = new Set<string>();
  for (const { seq, atMs, fact } of history.hosts) {
    const at = { seq, atMs };
    if (fact.kind === 'power-off' || fact.kind === 'boot') {
      for (const [id, { host }] of there) if (host === fact.host && there.delete(id)) left.set(id, at);
      continue;
    }
    const thing = thingOf(fact);
    if (thing === null) continue;
    const id = thing.allocation;
    seen.add(id);
    let presence = there.get(id);
    if (thing.isThere) {
      if (presence === undefined) there.set(id, (presence = { host: fact.host, things: new Set() }));
      presence.things.add(thing.name);
      left.delete(id);
    } else {
      presence?.things.delete(thing.name);
      if ((presence?.things.size ?? 0) > 0) continue;
      there.delete(id);
      left.set(id, at);
    }
  }
  applyOrders(history.orders, seen, left);
  return left;
}

/** @param seen allocations that the kernel knows: their processes, ports and addresses must be gone, whatever is answered */
function applyOrders(
  orders: readonly OrderRecord[],
  seen: ReadonlySet<string>,
  left: Map<string, Stamp>,
): void {
  /** Starts that were accepted: the same start sent again is answered 200 also when its allocation was stopped long ago. */
  const known = new Set<string>();
  /** Stops without an answer: they may have been carried out, or not. */
  const unanswered = new Set<string>();
  for (const record of orders) {
    const { order, answer } = record;
    const id = allocationOf(record);
    if (answer === null) {
      if (order.kind !== 'stop' || seen.has(id) || left.has(id)) continue;
      left.set(id, record);
      unanswered.add(id);
      continue;
    }
    // Gone already at the next order: the stop was carried out. Any other answer proves nothing.
    if (unanswered.delete(id) && !provesGone(order, answer.fact)) left.delete(id);
    if (!seen.has(id)) {
      if (endsUnbegun(order, answer.fact) && !left.has(id)) left.set(id, answer);
      else if (order.kind === 'start' && answer.fact.status === 200 && !known.has(id)) left.delete(id);
    }
    if (order.kind !== 'remove' && answer.fact.status === 200) known.add(id);
    const departure = left.get(id);
    const isHeld = answer.fact.report?.released === false;
    if (isHeld && departure !== undefined && departure.seq < answer.seq) left.set(id, answer);
  }
}

/**
 * Will the host never begin it? A stop of an unknown id fences that id (404), and one that its disk does not take is carried
 * out all the same (507). A refused start may be sent again, unless the refusal is final.
 */
function endsUnbegun(order: OrderFact, { status, code }: OrderAnswer): boolean {
  switch (order.kind) {
    case 'start':
      return FINAL_REFUSALS.has(code ?? '');
    case 'stop':
      return status === 200 || code === 'no-allocation' || code === 'disk-full';
    case 'remove':
      return status === 204;
  }
}

/** Does the answer prove that the allocation had left before the order? Only what has left can be removed. */
function provesGone(order: OrderFact, { status, code, report }: OrderAnswer): boolean {
  if (order.kind === 'remove') return status === 204;
  return report?.released === true || (order.kind === 'start' && code === 'stopped');
}

export function allocationOf({ order }: OrderRecord): string {
  return order.kind === 'start' ? order.request.allocation.id : order.id;
}

interface Thing {
  readonly allocation: string;
  readonly name: string;
  readonly isThere: boolean;
}

function thingOf(fact: HostFact): Thing | null {
  switch (fact.kind) {
    case 'claimed':
      return thing(fact.attempt, 'shim', false);
    case 'started':
    case 'ended':
      return thing(fact.attempt, `process ${fact.attempt}`, fact.kind === 'started');
    case 'bound':
    case 'freed':
      return thing(fact.attempt, `${fact.what} ${fact.name}`, fact.kind === 'bound');
    default:
      return null;
  }
}

function thing(attempt: string, name: string, isThere: boolean): Thing | null {
  const allocation = parseAttemptName(attempt)?.allocation;
  return allocation === undefined ? null : { allocation, name, isThere };
}
