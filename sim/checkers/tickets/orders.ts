import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import { claimOf } from '../../../src/core/quota/ticket.ts';
import { FINAL_REFUSALS } from '../../../src/wire/api/host-api.ts';
import type { Epoch } from '../../../src/core/cell/epoch.ts';
import type { OrderRecord, RecordedHistory } from '../../history/history.ts';
import type { OrderFact } from '../../history/host-facts.ts';
import type { Findings } from '../replay/violations.ts';

interface Obeyed {
  readonly record: OrderRecord;
  readonly epoch: Epoch;
  readonly answeredSeq: number;
}

/**
 * I17: a host obeys no order of an older epoch than one that it has obeyed. I34: the same order sent again gets the same answer, and a start
 * that was refused for good is not obeyed later. I46: a command's id names one command.
 */
export function checkOrders(history: RecordedHistory, findings: Findings): void {
  const newest = new Map<string, Obeyed>();
  const commands = new Map<string, OrderRecord>();
  const accepted = new Map<string, OrderRecord>();
  const removed = new Set<string>();
  const refused = new Map<string, OrderRecord>();
  for (const record of history.orders) {
    const { order, answer } = record;
    checkCommand(record, commands, findings);
    if (order.kind === 'remove') {
      removed.add(`${order.host} ${order.id}`);
      continue;
    }
    const id = `${order.host} ${order.kind === 'start' ? order.request.allocation.id : order.id}`;
    if (order.kind === 'start') {
      checkRepeat(record, accepted.get(id), removed.has(id), findings);
      checkRefused(record, id, refused, findings);
    }
    if (answer?.fact.status !== 200) continue;
    // The saved answer of a start that was obeyed before says nothing about the epoch now.
    if (order.kind === 'start' && accepted.has(id)) continue;
    checkEpoch(record, newest, findings);
    if (order.kind === 'start') accepted.set(id, record);
  }
}

function checkEpoch(record: OrderRecord, newest: Map<string, Obeyed>, findings: Findings): void {
  const { order, answer } = record;
  const epoch = epochOf(order);
  if (epoch === null || answer === null) return;
  const key = `${order.host} ${epoch.incarnation}`;
  const before = newest.get(key);
  if (before !== undefined && epoch.counter < before.epoch.counter && before.answeredSeq < record.seq)
    findings.prove(
      'I17',
      order.host,
      `obeyed an order of epoch ${String(epoch.counter)} after one of ${String(before.epoch.counter)}`,
      [before.record, record],
    );
  // Several orders may be under way at once: the one that was answered first counts for those that came after it.
  if (before === undefined || epoch.counter > before.epoch.counter)
    newest.set(key, { record, epoch, answeredSeq: answer.seq });
}

function checkRepeat(
  record: OrderRecord,
  first: OrderRecord | undefined,
  removed: boolean,
  findings: Findings,
): void {
  const { order, answer } = record;
  if (first === undefined || removed || answer === null || first.answer === null) return;
  if (first.answer.seq > record.seq || order.kind !== 'start' || first.order.kind !== 'start') return;
  if (workOf(order) !== workOf(first.order) || answer.fact.status === 200) return;
  findings.prove(
    'I34',
    order.request.allocation.id,
    `the start that ${order.host} had obeyed was answered ${String(answer.fact.status)} ${answer.fact.code ?? ''} when sent again`,
    [first, record],
  );
}

/** By the same agent: the next one knows of the refusal only if it was written, and a failed write may or may not be on the disk. */
function checkRefused(
  record: OrderRecord,
  id: string,
  refused: Map<string, OrderRecord>,
  findings: Findings,
): void {
  const { order, answer } = record;
  const key = `${id} ${String(order.incarnation)}`;
  const before = refused.get(key);
  if (answer === null) return;
  if (FINAL_REFUSALS.has(answer.fact.code ?? '')) {
    if (before === undefined) refused.set(key, record);
    return;
  }
  if (answer.fact.status !== 200 || before?.answer == null || before.answer.seq > record.seq) return;
  findings.prove(
    'I34',
    id,
    `the start that was refused for good (${before.answer.fact.code ?? ''}) was obeyed when sent again`,
    [before, record],
  );
}

function checkCommand(record: OrderRecord, commands: Map<string, OrderRecord>, findings: Findings): void {
  const { order } = record;
  const id = order.kind === 'remove' ? order.commandId : order.request.commandId;
  const key = `${order.host} ${id}`;
  const first = commands.get(key);
  if (first === undefined) commands.set(key, record);
  else if (subjectOf(first.order) !== subjectOf(order))
    findings.prove('I46', id, 'the id of another command is used again', [first, record]);
}

function epochOf(order: OrderFact): Epoch | null {
  if (order.kind === 'remove') return null;
  return order.kind === 'start' ? order.request.allocation.epoch : order.request.epoch;
}

function subjectOf(order: OrderFact): string {
  return `${order.kind} ${order.kind === 'start' ? order.request.allocation.id : order.id}`;
}

/** What makes two starts the same work, whichever scheduler orders them and with which ticket. */
export function workOf(order: OrderFact & { readonly kind: 'start' }): string {
  const { allocation, launch } = order.request;
  const { namespace, job } = allocation;
  return canonicalJson({ claim: claimOf(allocation), namespace, job, launch });
}
