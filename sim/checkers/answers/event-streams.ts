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
 * I52 for those who follow the cell's events: no stream tells an event twice, and what the store tells comes in its order,
 * once, without anything left out, over all streams of a follower, but where a gap says so. Of what may be left out the ends
 * are looked at: each when something later is told, the rest when the quiet time is over.
 */
export function checkEventStreams(history: RecordedHistory, keys: CellKeys, findings: Findings): void {
  checkStreams(history, keys, deliveredUntilMs(history), findings);
}

/** Has every follower heard of all ends by now, or of a gap? */
export function allDelivered(history: RecordedHistory, keys: CellKeys): boolean {
  const open = new Findings();
  checkStreams(history, keys, Infinity, open);
  return open.count === 0;
}

/** @param untilMs what happened up to this time must have been told */
function checkStreams(history: RecordedHistory, keys: CellKeys, untilMs: number, findings: Findings): void {
  if (history.events.length === 0) return;
  const ends = endsIn(history, keys);
  const readers = new Map<string, Stamped<EventFact>[]>();
  for (const event of history.events) pushTo(readers, event.fact.client, event);
  for (const [client, facts] of readers) {
    const reader = new Reader(client, ends, history.restores, findings);
    for (const { seq, atMs, fact } of facts)
      if ('event' in fact) reader.hears(fact.event, fact.stream, { seq, atMs });
      else reader.begins(fact.began, { seq, atMs });
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
  /** The store's, when a gap was told last: only a gap says that it was restored. */
  #generation = 0;
  #stream = 0;
  /** By id, in the present stream. */
  #inStream = new Map<string, Stamp>();
  /** Since the last gap: what the store told, by id, and which ends. */
  #told = new Map<string, Stamp>();
  #toldEnds = new Set<string>();
  /** Of this revision a part may have been told before. */
  #partly = 0;
  #last: { readonly revision: number; readonly at: Stamp } | null = null;
  /** The last gap, or else the first that was heard: whatever happens after it is told. */
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

  /** With `now`, at a monitor that is at this place. Whoever says `now` again has forgotten where he was. */
  begins(place: string, at: Stamp): void {
    const began = eventPositionOf(place);
    if (began === null || this.#since !== null) return;
    this.#since = at;
    this.#partly = began.revision;
    this.#last = { revision: began.revision, at };
  }

  hears(event: CellEvent, stream: number, at: Stamp): void {
    if (stream !== this.#stream) this.#inStream = new Map();
    this.#stream = stream;
    if (event.kind === 'gap') return this.#forget(at);
    this.#since ??= at;
    const place = eventPositionOf(event.id);
    const before = this.#inStream.get(event.id) ?? (place === null ? undefined : this.#told.get(event.id));
    if (before !== undefined)
      this.#prove(event.id, `${this.#client} was told twice: ${event.kind}`, [before, at]);
    this.#inStream.set(event.id, at);
    if (place !== null) {
      this.#told.set(event.id, at);
      this.#follows(place.revision, event.id, at);
    }
    if (event.kind === 'ended') this.#toldEnds.add(event.allocation ?? '');
  }

  /** @param untilMs what happened up to this time must have been told */
  finishes(untilMs: number): void {
    const since = this.#since;
    if (since === null) return;
    for (const end of this.#ends)
      if (this.#isAhead(end) && end.atMs <= untilMs) this.#wants(end, [since, end]);
  }

  #forget(at: Stamp): void {
    this.#told = new Map();
    this.#toldEnds = new Set();
    this.#last = null;
    this.#since = at;
    this.#generation = this.#restores.findLast(({ seq }) => seq < at.seq)?.fact.generation ?? 0;
  }

  #follows(revision: number, id: string, at: Stamp): void {
    const last = this.#last;
    if (last === null) this.#partly = revision;
    else if (revision < last.revision)
      this.#prove(id, `${this.#client} was told of it after what came later`, [last.at, at]);
    for (const end of this.#ends)
      if (end.seq < at.seq && end.revision < revision && this.#isAhead(end))
        this.#wants(end, [end, last?.at ?? at, at]);
    this.#last = { revision, at };
  }

  /** Does it come after all that was told by now? */
  #isAhead(end: End): boolean {
    if (end.generation !== this.#generation) return end.generation > this.#generation;
    return this.#last === null ? end.seq > (this.#since?.seq ?? 0) : end.revision >= this.#last.revision;
  }

  #wants({ allocation, revision }: End, evidence: readonly [Stamp, ...Stamp[]]): void {
    if (revision === this.#partly || this.#toldEnds.has(allocation)) return;
    this.#prove(allocation, `${this.#client} was not told of its end, nor of a gap`, evidence);
  }

  #prove(key: string, detail: string, evidence: readonly [Stamp, ...Stamp[]]): void {
    this.#findings.prove('I52', key, detail, evidence);
  }
}
