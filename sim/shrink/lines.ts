import type { Allocation, Exit } from '../../src/core/cell/allocation.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { Change } from '../../src/ports/cell-store.ts';
import type { ApiAnswer, ApiCall } from '../history/facts.ts';
import type { History, OrderRecord, Stamp } from '../history/history.ts';
import type { HostFact } from '../history/host-facts.ts';

/** One thing that happened, in words. */
export interface Line {
  readonly seq: number;
  readonly atMs: number;
  readonly actor: string;
  readonly text: string;
}

/** Everything that was recorded, in words and in order. */
export function linesOf(history: History): readonly Line[] {
  const lines: Line[] = [];
  const add = ({ seq, atMs }: Stamp, actor: string, text: string): void => {
    lines.push({ seq, atMs, actor, text });
  };
  for (const at of history.revisions) {
    const texts = at.fact.changes.map(wordsOfChange).filter((text) => text !== '');
    if (texts.length > 0)
      add(at, at.fact.actor ?? 'session', `store ${String(at.fact.revision)}: ${texts.join('; ')}`);
  }
  for (const at of history.hosts) add(at, at.fact.host, wordsOfHost(at.fact));
  for (const record of history.orders) addOrder(record, add);
  for (const at of history.actors) add(at, at.fact.actor, `${at.fact.role} ${at.fact.change}`);
  for (const record of history.calls) {
    add(record, record.call.client, `asks: ${wordsOfCall(record.call)}`);
    if (record.answer !== null)
      add(
        record.answer,
        record.call.client,
        `gets the answer to ${wordsOfCall(record.call)}: ${wordsOfAnswer(record.answer.fact)}`,
      );
  }
  for (const at of history.grants)
    add(
      at,
      at.fact.arbiter,
      `grants ${at.fact.body.claim.id} on ${at.fact.body.aud} to ${at.fact.body.scheduler}`,
    );
  for (const at of history.nemesis) add(at, 'nemesis', `FAULT ${at.fact.phase}s: ${at.fact.what}`);
  for (const at of history.phases)
    add(at, 'world', at.fact.phase === 'quiet' ? 'FAULTS ARE OVER' : 'the run ends');
  addViews(history, add);
  return lines.sort((a, b) => a.seq - b.seq);
}

type Add = (at: Stamp, actor: string, text: string) => void;

function addViews(history: History, add: Add): void {
  for (const at of history.views) {
    const seen = at.fact.hosts.map(({ host, seq, reports, staleSinceMs }) => {
      const stale = staleSinceMs === null ? '' : ' stale';
      return `${host}@${String(seq)}${stale} (${reports.map((one) => `${one.id} ${one.state}`).join(', ')})`;
    });
    add(at, at.fact.monitor, `shows ${at.fact.complete ? '' : 'incompletely '}${seen.join(' ')}`);
  }
  for (const at of history.listings) {
    const reports = at.fact.reports.map(
      ({ id, state, released }) => `${id} ${state}${released ? ' released' : ''}`,
    );
    add(at, at.fact.host, `lists @${String(at.fact.seq)} ${reports.join(', ')}`);
  }
}

function addOrder(record: OrderRecord, add: Add): void {
  const { order, answer } = record;
  const id = order.kind === 'start' ? order.request.allocation.id : order.id;
  const mode = order.kind === 'stop' ? ` (${order.request.mode}: ${order.request.cause})` : '';
  add(record, order.host, `is ordered to ${order.kind} ${id}${mode}`);
  if (answer === null) return;
  const { status, code, report } = answer.fact;
  add(
    answer,
    order.host,
    `answers ${order.kind} ${id}: ${String(status)} ${code ?? report?.state ?? ''}`.trimEnd(),
  );
}

/** Short for what is frequent, empty for what tells nothing (renewals). */
function wordsOfChange(change: Change): string {
  const key = change.kind === 'put' ? change.entry.key : change.key;
  const [, , , room = '', ...rest] = key.split('/');
  const name = rest.join('/');
  if (change.kind === 'delete') return `${room} ${name} deleted`;
  if (room === 'allocs') return `alloc ${wordsOfAllocation(change.entry.value)}`;
  if (room === 'ledger') return `ledger ${name}`;
  const told = WORDS[room];
  return told === undefined ? `${room} ${name}` : `${room} ${name}: ${told(fieldsOf(change.entry.value))}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** The field of each kind of record that matters to a reader. */
const WORDS: Readonly<Record<string, (fields: Fields) => string>> = {
  owners: (fields) => text(fields['scheduler']),
  outcomes: (fields) =>
    `${text(fields['state'])}, ${text(fields['reason'])}, ${JSON.stringify(fields['exit'] ?? {})}`,
  eligibility: (fields) => `${text(fields['state'])} by ${text(fields['by'])}`,
  jobs: (fields) => `version ${text(fields['version'])}, ${text(fields['desired'])}`,
  hosts: (fields) => `incarnation ${text(fields['incarnation'])}, boot ${text(fields['bootId'])}`,
  runs: (fields) => text(fields['job']),
};

function wordsOfAllocation(value: string): string {
  const { id, job, group, index, host, desired, cause, attempt } = fieldsOf(value) as Partial<Allocation>;
  const slot = slotName(job ?? '', group ?? '', index ?? 0);
  return `${id ?? ''} ${slot}#${String(attempt ?? 0)} on ${host ?? ''} ${desired ?? ''}${cause === undefined ? '' : ` (${cause})`}`;
}

function fieldsOf(value: string): Fields {
  try {
    return JSON.parse(value) as Fields;
  } catch {
    return {};
  }
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function wordsOfHost(fact: HostFact): string {
  switch (fact.kind) {
    case 'boot':
      return `boots as ${fact.boot}`;
    case 'power-off':
      return 'loses its power';
    case 'claimed':
      return `a shim claims ${fact.attempt}`;
    case 'started':
      return `${fact.attempt} runs as process ${String(fact.process.pid)}`;
    case 'ended':
      return `${fact.attempt} (process ${String(fact.process.pid)}) ends: ${wordsOfExit(fact.exit)}`;
    case 'shim-gone':
      return `the shim of ${fact.attempt} is gone`;
    case 'signalled':
      return `${fact.signal} for ${fact.by} reaches process ${String(fact.process.pid)} of ${fact.owner ?? 'no attempt'}`;
    case 'bound':
      return `${fact.attempt} binds ${fact.what} ${fact.name}`;
    case 'freed':
      return `${fact.attempt} frees ${fact.what} ${fact.name}`;
    case 'wrote':
      return `${fact.attempt} writes at ${String(fact.offset)}${fact.isKept ? '' : ', which its disk does not take'}: ${fact.text.trim()}`;
    case 'gave-up':
      return `what ${fact.attempt} wrote before ${String(fact.until)} is given up`;
    case 'disk':
      return fact.fault === null ? 'its disk works again' : `its disk fails: ${fact.fault}`;
  }
}

function wordsOfExit({ code, signal, lost }: Exit): string {
  return code !== undefined ? `code ${String(code)}` : (signal ?? `lost, ${lost ?? ''}`);
}

function wordsOfCall(call: ApiCall): string {
  if (call.kind === 'run') return `run ${call.job.name} under ${call.key}`;
  return call.kind === 'submit' ? `submit ${call.job.name}` : `stop ${call.job}`;
}

function wordsOfAnswer(answer: ApiAnswer): string {
  if (answer.result === 'ok') return `done, ${answer.job}`;
  return answer.result === 'fail'
    ? `refused, ${String(answer.status)} ${answer.code}`
    : `unknown, ${answer.why}`;
}
