import { CellState } from '../../src/core/cell-state/cell-state.ts';
import { labelled, meets, hasDriver } from '../../src/core/host/attributes.ts';
import type { Eligibility, Host } from '../../src/core/host/host.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, usedOf } from '../../src/core/fit/ledger.ts';
import { hasNegative, subtractResources } from '../../src/core/cell/resources.ts';
import { givenUpAtMs } from '../../src/core/slots/given-up.ts';
import type { MatchingHost, HostCondition } from '../../src/core/slots/job-view.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { PoolFeed } from '../../src/runtime/records/pool-feed.ts';
import { LedgerFeed, readerOf } from '../../src/runtime/records/ledger-feed.ts';
import { Table } from '../../src/runtime/records/records.ts';
import type { Codec } from '../../src/wire/wire.ts';
import { eligibilityCodec, hostCodec } from '../../src/wire/records/records.ts';

export interface CellListener {
  /** The host may take more than before: it joined, came alive, was made ready, or something on it was released. */
  onFreed(host: string): void;
  /** The host's condition changed: jobs with allocations there must be decided on again. */
  onCondition(host: string): void;
  /** The host joined, left, changed, or its session began or ended: `matching` may answer differently. */
  onHost(host: string): void;
  /** May changes of ledgers wait until a search reads them? Not while a job is parked, nor where the version counts. */
  mayWait(): boolean;
  /** Why an operator has paused placement on the host, for people; null: it goes on. */
  pausedOn(host: Host): string | null;
  /** More of a shared resource may be free: some was released, or an operator raised it. */
  onSharedFreed(resource: string): void;
}

/** Only the presence of an `alive` key counts, not its content. */
const presence: Codec<string> = { encode: (text) => text, decode: (text) => text };

/**
 * A scheduler's private copy of the cell (Omega): hosts, their sessions, ledgers, eligibility and shared pools, joined.
 * Allocations are not part of it; the ledgers say all that placing needs.
 */
export class PrivateCell {
  readonly state = new CellState((host) => this.syncLedger(host));
  readonly book: LedgerBook;
  readonly ready: Promise<unknown>;
  readonly #listener: CellListener;
  readonly #tables: readonly { close(): void }[];
  readonly #hosts: Table<Host>;
  readonly #eligibility: Table<Eligibility>;
  readonly #clock: Clock;
  readonly #orphanMs: number;
  /** When a host was first seen as lost (monotonic). No wall clock: two of them may differ by minutes. */
  readonly #lostAtMs = new Map<string, number>();
  /** The ledger that the state was last given, by host. */
  readonly #applied = new Map<string, Ledger>();

  /** @param orphanMs how long what is to end on a lost host is kept before it is given up */
  constructor(
    { store, keys, log, clock }: Pick<RolePorts, 'store' | 'keys' | 'log' | 'clock'>,
    orphanMs: number,
    listener: CellListener,
  ) {
    this.#clock = clock;
    this.#orphanMs = orphanMs;
    this.#listener = listener;
    const onBadRecord = (error: Error, key: string): void => log.error({ key, error }, 'unreadable record');
    this.#hosts = new Table<Host>(store, keys.hosts, hostCodec, {
      onBadRecord,
      onChange: (name, now) => this.#onHost(name, now?.value),
    });
    const alive = new Table<string>(store, keys.alive, presence, {
      onChange: (name, now) => this.#onAlive(name, now !== undefined),
    });
    this.book = new LedgerBook(readerOf(keys, onBadRecord));
    const ledgers = new LedgerFeed(store, keys, this.book, {
      onBadRecord,
      onLedger: (host) => this.syncLedger(host),
      onUnread: (host) => this.state.setUnread(host),
      mayWait: () => listener.mayWait(),
    });
    this.#eligibility = new Table<Eligibility>(store, keys.eligibility, eligibilityCodec, {
      onBadRecord,
      onChange: (name, now, before) => {
        if (canonicalJson(now?.value.labels ?? {}) !== canonicalJson(before?.value.labels ?? {}))
          this.#onHost(name, this.#hosts.get(name)?.value);
        if (now?.value.state !== 'lost') this.#lostAtMs.delete(name);
        else if (!this.#lostAtMs.has(name)) this.#lostAtMs.set(name, clock.monotonicMs());
        listener.onCondition(name);
      },
    });
    const pools = new PoolFeed(store, keys, this.state.pools, {
      onBadRecord,
      onCapacityFreed: (resource) => listener.onSharedFreed(resource),
    });
    this.#tables = [this.#hosts, alive, ledgers, this.#eligibility, pools];
    const readies = [this.#hosts.ready, alive.ready, ledgers.ready, pools.ready, this.#eligibility.ready];
    this.ready = Promise.all(readies);
    // A term that ends before it was ready awaits none of them.
    this.ready.catch(() => undefined);
  }

  /**
   * Commits obey the state in the ledger; the deadline of a drain stands only in the eligibility record. Both are written together
   * and heard of apart: a host is lost when both say so, so that what is decided by its loss can compare the record.
   */
  condition(host: string): HostCondition {
    const row = this.#eligibility.get(host);
    const eligibility = row?.value;
    const known = this.book.get(host).ledger.state;
    const isHalfLost = known === 'lost' && eligibility?.state !== 'lost';
    const state = isHalfLost ? (eligibility?.state ?? 'ready') : known;
    const drainDeadlineMs = eligibility?.drainDeadlineMs ?? null;
    const lostAtMs = this.#lostAtMs.get(host);
    const silent = this.state.isAlive(host) ? null : { isSilent: true as const };
    if (state !== 'lost' || lostAtMs === undefined) return { state, drainDeadlineMs, ...silent };
    const cutOffMs = (eligibility?.silentMs ?? 0) + this.#clock.monotonicMs() - lostAtMs;
    const atMs = givenUpAtMs(eligibility, this.#orphanMs);
    const isRemoved = eligibility?.confirmed === 'removed';
    const isConfirmed = eligibility?.confirmed !== undefined;
    const fences = eligibility?.fences;
    const since = row === undefined ? {} : { lostSinceMs: row.value.sinceMs, lostRevision: row.modRevision };
    return {
      ...{ state, drainDeadlineMs, cutOffMs, ...silent, ...since },
      ...(atMs === null ? {} : { givenUpAtMs: atMs, isRemoved, isConfirmed }),
      ...(fences === undefined ? {} : { fences }),
    };
  }

  /** The mod revision of the record by which `condition` goes; 0: there is none. */
  eligibilityRevision(host: string): number {
    return this.#eligibility.get(host)?.modRevision ?? 0;
  }

  /** For system jobs: every host that can run the group, whether or not it is ready. */
  matching(group: Group): readonly MatchingHost[] {
    return matchingIn(this.state, group);
  }

  /**
   * Takes over the book's ledger of the host. Replies to own commits and the watch both end here: whichever comes first
   * must tell of the capacity that a release frees.
   */
  syncLedger(host: string): void {
    const { ledger, revision } = this.book.get(host);
    const before = this.#applied.get(host) ?? EMPTY_LEDGER;
    if (ledger === before) return;
    this.#applied.set(host, ledger);
    this.state.setLedger(host, ledger, revision);
    if (before.state !== ledger.state) this.#listener.onCondition(host);
    if (isFreer(before, ledger)) this.#listener.onFreed(host);
  }

  /** Placement on hosts was paused, or goes on. */
  pausesChanged(): void {
    for (const { host } of this.state.views())
      if (this.state.setPaused(host.id, this.#listener.pausedOn(host))) this.#listener.onFreed(host.id);
  }

  close(): void {
    for (const table of this.#tables) table.close();
  }

  #onHost(name: string, host: Host | undefined): void {
    if (host === undefined) {
      this.state.removeHost(name);
    } else {
      const known = labelled(host, this.#eligibility.get(name)?.value.labels);
      this.state.setHost(known);
      this.state.setPaused(name, this.#listener.pausedOn(known));
      this.#listener.onFreed(name);
    }
    this.#listener.onHost(name);
  }

  #onAlive(host: string, alive: boolean): void {
    this.state.setAlive(host, alive);
    if (alive) this.#listener.onFreed(host);
    this.#listener.onHost(host);
  }
}

/** Hosts that can run the group, whether or not they are ready. */
export function matchingIn(state: CellState, group: Group): readonly MatchingHost[] {
  const result: MatchingHost[] = [];
  for (const { host, ledger, alive, paused } of state.views()) {
    if (!hasDriver(host) || !group.constraints.every((expression) => meets(host, expression))) continue;
    result.push({ host: host.id, ready: alive && paused === null && ledger.state === 'ready' });
  }
  return result;
}

/** Could anything fit the new ledger that did not fit the old one? May be true where nothing can. */
function isFreer(before: Ledger, now: Ledger): boolean {
  if (before.state !== now.state) return now.state === 'ready';
  if (now.ports.length < before.ports.length) return true;
  if (before.gpuMilli.some((milli, device) => milli > (now.gpuMilli[device] ?? 0))) return true;
  return hasNegative(subtractResources(usedOf(now), usedOf(before)));
}
