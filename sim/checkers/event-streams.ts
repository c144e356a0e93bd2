import type { CellKeys } from '../../src/core/keys.ts';
import type { EventFact } from '../history/facts.ts';
import type { RecordedHistory, Stamp, Stamped } from '../history/history.ts';
import { pushTo } from './run-book.ts';
import type { Findings } from './violations.ts';

/** An end, as the store holds it. */
interface End extends Stamp {
  readonly revision: number;
  readonly allocation: string;
}

/**
 * I52 for those who follow the cell's events: no stream tells an event twice, and what the store tells comes in its order,
 * once, without anything left out, over all streams of a follower, but where a gap says so. Of what may be left out the ends
 * are looked at.
 */
export function checkEventStreams(history: RecordedHistory, keys: CellKeys, findings: Findings): void {
  if (history.events.length === 0) return;
  const ends = endsIn(history, keys);
  const readers = new Map<string, Stamped<EventFact>[]>();
  for (const event of history.events) pushTo(readers, event.fact.client, event);
  for (const [client, events] of readers) {
    const reader = new Reader(client, ends, findings);
    for (const event of events) reader.hears(event);
  }
}

function endsIn({ revisions, restores }: RecordedHistory, { outcomes }: CellKeys): readonly End[] {
  const restored = new Set(restores.map(({ fact }) => fact.revision));
  const ends: End[] = [];
  for (const { seq, atMs, fact } of revisions) {
    const { revision, changes } = fact;
    if (restored.has(revision)) continue;
    for (const change of changes)
      if (change.kind === 'put' && change.entry.createRevision === revision)
        if (change.entry.key.startsWith(outcomes)) {
          const allocation = change.entry.key.slice(change.entry.key.lastIndexOf('/') + 1);
          ends.push({ seq, atMs, revision, allocation });
        }
  }
  return ends;
}

class Reader {
  readonly #client: string;
  readonly #ends: readonly End[];
  readonly #findings: Findings;
  #stream = 0;
  /** By id, in the present stream. */
  #inStream = new Map<string, Stamp>();
  /** Since the last gap: what the store told, by id, and which ends. */
  #told = new Map<string, Stamp>();
  #toldEnds = new Set<string>();
  #first = 0;
  #last: { readonly place: Place; readonly at: Stamp } | null = null;

  constructor(client: string, ends: readonly End[], findings: Findings) {
    this.#client = client;
    this.#ends = ends;
    this.#findings = findings;
  }

  hears(at: Stamped<EventFact>): void {
    const { stream, event } = at.fact;
    if (stream !== this.#stream) this.#inStream = new Map();
    this.#stream = stream;
    if (event.kind === 'gap') return this.#forget();
    const place = placeOf(event.id);
    const before = this.#inStream.get(event.id) ?? (place === null ? undefined : this.#told.get(event.id));
    if (before !== undefined)
      this.#prove(event.id, `${this.#client} was told twice: ${event.kind}`, [before, at]);
    this.#inStream.set(event.id, at);
    if (place === null) return;
    this.#told.set(event.id, at);
    this.#follows(place, at);
    if (event.kind === 'ended') this.#toldEnds.add(event.allocation ?? '');
  }

  #forget(): void {
    this.#told = new Map();
    this.#toldEnds = new Set();
    this.#last = null;
  }

  #follows(place: Place, at: Stamped<EventFact>): void {
    const last = this.#last;
    this.#last = { place, at };
    if (last === null) {
      this.#first = place.revision;
      return;
    }
    if (place.revision < last.place.revision)
      this.#prove(at.fact.event.id, `${this.#client} was told of it after what came later`, [last.at, at]);
    if (place.revision <= last.place.revision) return;
    // Of the first revision a part may have been told before.
    for (const end of this.#ends) {
      if (end.revision >= place.revision) break;
      if (end.revision < last.place.revision || end.revision === this.#first) continue;
      if (!this.#toldEnds.has(end.allocation))
        this.#prove(end.allocation, `${this.#client} was not told of its end, nor of a gap`, [
          end,
          last.at,
          at,
        ]);
    }
  }

  #prove(key: string, detail: string, evidence: readonly [Stamp, ...Stamp[]]): void {
    this.#findings.prove('I52', key, detail, evidence);
  }
}

interface Place {
  readonly revision: number;
}

/** Where among the store's changes the event is; null for what a role said. */
function placeOf(id: string): Place | null {
  const match = /^(\d+)\.\d+$/.exec(id);
  return match === null ? null : { revision: Number(match[1]) };
}
