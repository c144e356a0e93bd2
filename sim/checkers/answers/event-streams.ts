import type { CellKeys } from '../../../src/core/cell/keys.ts';
import { eventPositionOf } from '../../../src/wire/api/event-position.ts';
import type { CellEvent } from '../../../src/wire/api/monitor-api.ts';
import type { EventFact } from '../../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import { deliveredUntilMs } from '../replay/delivery-deadline.ts';
import { pushTo } from '../replay/run-index.ts';
import { Findings } from '../replay/violations.ts';

/** An end, as the store holds it. */
interface End extends Stamp {
  readonly generation: number;
  readonly revision: number;
  readonly allocation: string;
}

/**
 * I52 for the followers of events: no stream has an event twice. Over all streams of a follower, events of the store come once, in
 * the store's order, and none is left out without a gap. Only ends are checked for being left out: each when a later event
 * arrives, the rest when the quiet time is over.
 */
export function checkEventStreams(history: RecordedHistory, keys: CellKeys, findings: Findings): void {
  checkStreams(history, keys, deliveredUntilMs(history), findings);
}

/** Has every follower received all ends by now, or a gap? */
export function allDelivered(history: RecordedHistory, keys: CellKeys): boolean {
  const open = new Findings();
  checkStreams(history, keys, Infinity, open);
  return open.count === 0;
}

/** @param untilMs what happened up to this time must have been delivered */
function checkStreams(history: RecordedHistory, keys: CellKeys, untilMs: number, findings: Findings): void {
  if (history.events.length === 0) return;
  const ends = endsIn(history, keys);
  const readers = new Map<string, Stamped<EventFact>[]>();
  for (const event of history.events) pushTo(readers, event.fact.client, event);
  for (const [client, facts] of readers) {
    const reader = new Reader(client, ends, history.restores, findings);
    for (const { seq, atMs, fact } of facts)
      if ('event' in fact) reader.receives(fact.event, fact.stream, { seq, atMs });
      else reader.starts(fact.began, { seq, atMs });
    reader.finishes(untilMs);
  }
}

function endsIn({ revisions }: RecordedHistory, { outcomes }: CellKeys): readonly End[] {
  const ends: End[] = [];
  for (const { seq, atMs, fact } of revisions) {
    const { generation, revision, changes } = fact;
    if (fact.isRestore) continue;
    for (const change of changes)
      if (change.kind === 'put' && change.entry.createRevision === revision)
        if (change.entry.key.startsWith(outcomes)) {
          const allocation = change.entry.key.slice(change.entry.key.lastIndexOf('/') + 1);
          ends.push({ seq, atMs, generation, revision, allocation });
        }
  }
  return ends;
}

class Reader {
  readonly #client: string;
  readonly #ends: readonly End[];
  readonly #restores: RecordedHistory['restores'];
  readonly #findings: Findings;
  /** The store's generation at the last gap: only a gap announces that the store was restored. */
  #generation = 0;
  #stream = 0;
  /** By id, in the present stream. */
  #inStream = new Map<string, Stamp>();
  /** Since the last gap: events of the store, by id, and the ends among them. */
  #delivered = new Map<string, Stamp>();
  #deliveredEnds = new Set<string>();
  /** Events of this revision may be delivered in two parts. */
  #partly = 0;
  #last: { readonly revision: number; readonly at: Stamp } | null = null;
  /** The last gap, or else the first event: all that happens after it must be delivered. */
  #since: Stamp | null = null;

  constructor(
    client: string,
    ends: readonly End[],
    restores: RecordedHistory['restores'],
    findings: Findings,
  ) {
    this.#client = client;
    this.#ends = ends;
    this.#restores = restores;
    this.#findings = findings;
  }

  /** The follower asked for `now`, at a monitor that is at this place. */
  starts(place: string, at: Stamp): void {
    const began = eventPositionOf(place);
    if (began === null || this.#since !== null) return;
    this.#since = at;
    this.#partly = began.revision;
    this.#last = { revision: began.revision, at };
  }

  receives(event: CellEvent, stream: number, at: Stamp): void {
    if (stream !== this.#stream) this.#inStream = new Map();
    this.#stream = stream;
    if (event.kind === 'gap') return this.#forget(at);
    this.#since ??= at;
    const place = eventPositionOf(event.id);
    const before =
      this.#inStream.get(event.id) ?? (place === null ? undefined : this.#delivered.get(event.id));
    if (before !== undefined)
      this.#prove(event.id, `${this.#client} received twice: ${event.kind}`, [before, at]);
    this.#inStream.set(event.id, at);
    if (place !== null) {
      this.#delivered.set(event.id, at);
      this.#follows(place.revision, event.id, at);
    }
    if (event.kind === 'ended') this.#deliveredEnds.add(event.allocation ?? '');
  }

  /** @param untilMs what happened up to this time must have been delivered */
  finishes(untilMs: number): void {
    const since = this.#since;
    if (since === null) return;
    for (const end of this.#ends)
      if (this.#isAhead(end) && end.atMs <= untilMs) this.#wants(end, [since, end]);
  }

  #forget(at: Stamp): void {
    this.#delivered = new Map();
    this.#deliveredEnds = new Set();
    this.#last = null;
    this.#since = at;
    this.#generation = this.#restores.findLast(({ seq }) => seq < at.seq)?.fact.generation ?? 0;
  }

  #follows(revision: number, id: string, at: Stamp): void {
    const last = this.#last;
    if (last === null) this.#partly = revision;
    else if (revision < last.revision)
      this.#prove(id, `${this.#client} received it after a later one`, [last.at, at]);
    for (const end of this.#ends)
      if (end.seq < at.seq && end.revision < revision && this.#isAhead(end))
        this.#wants(end, [end, last?.at ?? at, at]);
    this.#last = { revision, at };
  }

  /** Does it come after all that was delivered so far? */
  #isAhead(end: End): boolean {
    if (end.generation !== this.#generation) return end.generation > this.#generation;
    return this.#last === null ? end.seq > (this.#since?.seq ?? 0) : end.revision >= this.#last.revision;
  }

  #wants({ allocation, revision }: End, evidence: readonly [Stamp, ...Stamp[]]): void {
    if (revision === this.#partly || this.#deliveredEnds.has(allocation)) return;
    this.#prove(allocation, `${this.#client} received neither its end nor a gap`, evidence);
  }

  #prove(key: string, detail: string, evidence: readonly [Stamp, ...Stamp[]]): void {
    this.#findings.prove('I52', key, detail, evidence);
  }
}
