/**
 * The store and its writers.
 *
 * - This file: replies of the store against its revisions (I5, order).
 * - `writers.ts`, `key-owners.ts`: only the role that owns a key changes it (I7); `compared-writes.ts`: every write compared what it must (I4, I7)
 * - `rollbacks.ts`: a role that was answered by a store that had gone back asks it no more (I54)
 */
import type { Entry } from '../../../src/ports/cell-store.ts';
import type { RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import type { RevisionFact, StoreCall } from '../../history/store-facts.ts';
import { revisionOf } from '../../history/store-facts.ts';
import type { Findings } from '../replay/violations.ts';

/** What the store holds of one key. */
interface Held {
  readonly mod: number;
  readonly create: number;
  readonly value: string;
}

/**
 * Was the store linearizable? Every reply carries a revision, so no search is needed: the calls are replayed once beside the
 * revisions. Every restore begins a generation, and revisions are compared within one generation only. Checked are:
 * revisions rise one by one; each applied attempt made the revision of its reply, alone, with just its writes; all its compares
 * held there, and one of a refused attempt's did not; all values that were read are those of the reply's revision; and no reply has a
 * revision older than one that was complete before the call.
 *
 * A call of unknown outcome proves nothing.
 */
export function checkStoreOrder(history: RecordedHistory, findings: Findings): void {
  new StoreReplay(history, findings).run();
}

class StoreReplay {
  readonly #history: RecordedHistory;
  readonly #findings: Findings;
  readonly #held = new Map<string, Held>();
  /** Calls of each generation, by the revision of their replies. */
  readonly #callsOf = new Map<number, Calls>();
  readonly #counts: PrefixCounts;
  #generation = 0;
  /** The evidence of what is being checked. */
  #at: Stamp = { seq: 0, atMs: 0 };

  constructor(history: RecordedHistory, findings: Findings) {
    this.#history = history;
    this.#findings = findings;
    const prefixes = new Set<string>();
    for (const call of history.storeCalls) {
      const revision = revisionOf(call);
      if (revision === null) continue;
      const calls = this.#callsIn(call.generation);
      const same = calls[revision];
      if (same === undefined) calls[revision] = [call];
      else same.push(call);
      if (call.kind === 'attempt') {
        for (const prefix of call.attempt.empty ?? []) prefixes.add(prefix);
      } else if (call.prefix !== null) prefixes.add(call.prefix);
    }
    this.#counts = new PrefixCounts([...prefixes]);
  }

  run(): void {
    const { revisions } = this.#history;
    const first = revisions[0]?.fact.revision ?? 1;
    for (let revision = 0; revision < first; revision++) this.#checkAt(revision, null);
    let last = first - 1;
    for (const stamped of revisions) {
      const { revision, generation } = stamped.fact;
      if (generation !== this.#generation) {
        this.#checkAfter(last);
        this.#generation = generation;
        for (let before = 0; before < revision; before++) this.#checkAt(before, null);
      }
      this.#at = stamped;
      if (stamped.fact.isRestore) this.#becomes(stamped.fact);
      else this.#follows(last, stamped);
      last = revision;
    }
    this.#checkAfter(last);
    this.#checkRealTime();
  }

  #follows(last: number, stamped: Stamped<RevisionFact>): void {
    const { revision, changes, actor } = stamped.fact;
    if (revision !== last + 1)
      this.#findings.prove('order', String(revision), `revision ${String(revision)} after ${String(last)}`, [
        stamped,
      ]);
    const applied = this.#calls[revision]?.filter(isApplied) ?? [];
    for (const call of applied) this.#checkCompares(call, revision, true);
    for (const change of changes)
      if (change.kind === 'delete') this.#forget(change.key);
      else this.#keep(change.entry);
    this.#checkAt(revision, actor);
  }

  /** The store is restored: keys have the revisions that they had then, and nothing is left of what came later. */
  #becomes({ revision, changes }: RevisionFact): void {
    for (const change of changes) {
      if (change.kind === 'delete') {
        this.#forget(change.key);
        continue;
      }
      const { key, modRevision: mod, createRevision: create, value } = change.entry;
      if (!this.#held.has(key)) this.#counts.add(key, 1);
      this.#held.set(key, { mod, create, value });
    }
    for (const [key, { mod }] of this.#held)
      if (mod > revision) this.#wrong(revision, key, `was restored as of ${String(mod)}`);
    this.#checkAt(revision, null);
  }

  get #calls(): Calls {
    return this.#callsIn(this.#generation);
  }

  #callsIn(generation: number): Calls {
    let calls = this.#callsOf.get(generation);
    if (calls === undefined) this.#callsOf.set(generation, (calls = []));
    return calls;
  }

  /** Replies with a revision that was never made. */
  #checkAfter(last: number): void {
    for (let revision = last + 1; revision < this.#calls.length; revision++) this.#checkAt(revision, null);
  }

  #keep({ key, modRevision: mod, createRevision: create, value }: Entry): void {
    const before = this.#held.get(key);
    const expected = before?.create ?? mod;
    if (create !== expected)
      this.#wrong(mod, key, `created at ${String(create)}, not at ${String(expected)}`);
    if (before === undefined) this.#counts.add(key, 1);
    this.#held.set(key, { mod, create, value });
  }

  #forget(key: string): void {
    if (this.#held.delete(key)) this.#counts.add(key, -1);
  }

  /** All replies of this revision against the state at it. */
  #checkAt(revision: number, actor: string | null): void {
    const calls = this.#calls[revision];
    if (calls === undefined) return;
    let writes = 0;
    for (const call of calls) {
      this.#at = { seq: call.to, atMs: call.atMs };
      if (call.kind === 'read') this.#checkRead(call, revision);
      else if (call.reply.outcome === 'refused') this.#checkRefused(call, revision);
      else if (call.attempt.writes.length > 0) {
        const isOwn = !this.#changesNothing(call);
        if (isOwn) writes += 1;
        if (isOwn && actor !== call.actor)
          this.#wrong(
            revision,
            call.actor,
            `was answered that it made this revision, which ${actor ?? 'the end of a session'} made`,
          );
        this.#checkWritten(call, revision);
      }
    }
    if (writes > 1)
      this.#wrong(revision, String(revision), `${String(writes)} attempts were answered with this revision`);
  }

  /** Deletes of absent keys make no revision: their reply has the newest one. */
  #changesNothing({ attempt }: StoreCall & { readonly kind: 'attempt' }): boolean {
    return attempt.writes.every(({ kind, key }) => kind === 'delete' && !this.#held.has(key));
  }

  #checkRead(call: StoreCall & { readonly kind: 'read' }, revision: number): void {
    const { entries } = call.snapshot;
    for (const entry of entries.values()) this.#checkEntry(entry, revision);
    if (call.keys !== null) {
      for (const key of call.keys)
        if (!entries.has(key) && this.#held.has(key)) this.#wrong(revision, key, 'was read as absent');
    } else if (call.prefix !== null && entries.size !== this.#counts.of(call.prefix)) {
      const there = String(this.#counts.of(call.prefix));
      this.#wrong(revision, call.prefix, `${String(entries.size)} of its ${there} keys were listed`);
    }
  }

  #checkEntry(entry: Entry, revision: number): void {
    const held = this.#held.get(entry.key);
    if (held?.mod !== entry.modRevision || held.create !== entry.createRevision || held.value !== entry.value)
      this.#wrong(
        revision,
        entry.key,
        `was read as of ${String(entry.modRevision)}, is of ${String(held?.mod ?? 0)}`,
      );
  }

  #checkRefused(call: StoreCall & { readonly kind: 'attempt' }, revision: number): void {
    if (call.reply.outcome !== 'refused') return;
    this.#checkCompares(call, revision, false);
    for (const entry of call.reply.found.values()) this.#checkEntry(entry, revision);
  }

  #checkCompares(call: StoreCall & { readonly kind: 'attempt' }, revision: number, applied: boolean): void {
    let holds = true;
    for (const { key, target, equals } of call.attempt.compares) {
      const held = this.#held.get(key);
      const is = held === undefined ? 0 : target === 'modRevision' ? held.mod : held.create;
      if (is !== equals) holds = false;
    }
    for (const prefix of call.attempt.empty ?? []) if (this.#counts.of(prefix) > 0) holds = false;
    if (holds !== applied)
      this.#wrong(
        revision,
        call.actor,
        applied ? 'was applied, and a compare of it does not hold' : 'was refused, and all its compares hold',
      );
  }

  #checkWritten(call: StoreCall & { readonly kind: 'attempt' }, revision: number): void {
    for (const write of call.attempt.writes) {
      const held = this.#held.get(write.key);
      const isThere =
        write.kind === 'put' ? held?.mod === revision && held.value === write.value : held === undefined;
      if (!isThere)
        this.#wrong(
          revision,
          write.key,
          `its ${write.kind} by ${call.actor} was acknowledged, and is not there`,
        );
    }
  }

  /** No call is answered with an older revision than a reply that came before the call. Calls and replies are walked in the order of time. */
  #checkRealTime(): void {
    const calls = this.#history.storeCalls;
    const asked = isSorted(calls) ? calls : [...calls].sort((a, b) => a.from - b.from);
    const newest = new Newest();
    let next = 0;
    for (const call of asked) {
      for (let answer = calls[next]; answer !== undefined && answer.to < call.from; answer = calls[++next])
        newest.take(answer);
      const known = newest.knownBefore(call);
      if (known === null) continue;
      this.#at = { seq: call.to, atMs: call.atMs };
      const revision = revisionOf(call) ?? 0;
      this.#wrong(revision, call.actor, `was answered with ${String(revision)} after ${known} was known`);
    }
  }

  #wrong(revision: number, key: string, detail: string): void {
    this.#findings.prove('order', key, `revision ${String(revision)}: ${detail}`, [this.#at]);
  }
}

type Calls = (StoreCall[] | undefined)[];

/** The newest reply so far: the last generation, and its last revision. */
class Newest {
  #generation = 0;
  #revision = 0;

  take(call: StoreCall): void {
    const revision = revisionOf(call);
    if (revision === null || call.generation < this.#generation) return;
    this.#revision = Math.max(revision, call.generation > this.#generation ? 0 : this.#revision);
    this.#generation = call.generation;
  }

  /** @returns null: the call's reply is not older */
  knownBefore(call: StoreCall): string | null {
    const revision = revisionOf(call);
    if (revision === null || call.generation > this.#generation) return null;
    if (call.generation === this.#generation && revision >= this.#revision) return null;
    return `${String(this.#revision)}${this.#generation === call.generation ? '' : ' of a restored store'}`;
  }
}

/** How many keys lie under each of the prefixes that were listed, or had to be empty. */
class PrefixCounts {
  readonly #prefixes: readonly string[];
  readonly #counts: number[];
  readonly #of = new Map<string, readonly number[]>();

  constructor(prefixes: readonly string[]) {
    this.#prefixes = prefixes;
    this.#counts = prefixes.map(() => 0);
  }

  of(prefix: string): number {
    return this.#counts[this.#prefixes.indexOf(prefix)] ?? 0;
  }

  add(key: string, sign: 1 | -1): void {
    let places = this.#of.get(key);
    if (places === undefined) {
      places = this.#prefixes.flatMap((prefix, place) => (key.startsWith(prefix) ? [place] : []));
      this.#of.set(key, places);
    }
    for (const place of places) this.#counts[place] = (this.#counts[place] ?? 0) + sign;
  }
}

function isApplied(call: StoreCall): call is StoreCall & { readonly kind: 'attempt' } {
  return call.kind === 'attempt' && call.reply.outcome === 'applied' && call.attempt.writes.length > 0;
}

function isSorted(calls: readonly StoreCall[]): boolean {
  return calls.every((call, i) => i === 0 || (calls[i - 1] as StoreCall).from <= call.from);
}
