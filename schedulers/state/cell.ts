import { CellState } from '../../src/core/cell-state/cell-state.ts';
import { meets, hasDriver } from '../../src/core/host/attributes.ts';
import type { Eligibility, Host } from '../../src/core/host/host.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, usedOf } from '../../src/core/fit/ledger.ts';
import { hasNegative, subtractResources } from '../../src/core/cell/resources.ts';
import type { MatchingHost, HostCondition } from '../../src/core/slots/job-view.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { PoolFeed } from '../../src/runtime/records/pool-feed.ts';
import { LedgerFeed, readerOf } from '../../src/runtime/records/ledger-feed.ts';
import { Table } from '../../src/runtime/records/records.ts';
import type { Codec } from '../../src/wire/codec/codec.ts';
import { eligibilityCodec, hostCodec } from '../../src/wire/records/records.ts';

export interface CellListener {
  /** The host may take more than before: it joined, came alive, was made ready, or something on it was released. */
  onRoom(host: string): void;
  /** The verdict about the host changed: jobs that run there must be looked at. */
  onStanding(host: string): void;
  /** The host joined, left, changed, or its session came or went: what `matching` says of it may be different. */
  onHost(host: string): void;
  /** May news of hosts wait until a search comes by? Not while somebody waits for room, nor where the version counts. */
  mayWait(): boolean;
  /** More may be free of what hosts share: some of it was given back, or an operator gave more. */
  onSharedRoom(resource: string): void;
}

/** A sign of life says by being there; what it says is the host's business. */
const presence: Codec<string> = { encode: (text) => text, decode: (text) => text };

/**
 * A scheduler's private copy of the cell: four rooms of the store, joined. Allocations are not among them; the ledgers
 * say all that placing needs.
 */
export class PrivateCell {
  readonly state = new CellState((host) => this.syncLedger(host));
  readonly book: LedgerBook;
  readonly ready: Promise<unknown>;
  readonly #listener: CellListener;
  readonly #tables: readonly { close(): void }[];
  readonly #eligibility: Table<Eligibility>;
  readonly #clock: Clock;
  /** When we heard of the verdict (monotonic), by lost host. No wall clock: two of them may differ by minutes. */
  readonly #lostAtMs = new Map<string, number>();
  /** The ledger that the state was last given, by host. */
  readonly #applied = new Map<string, Ledger>();

  constructor(store: CellStore, keys: CellKeys, log: Log, clock: Clock, listener: CellListener) {
    this.#clock = clock;
    this.#listener = listener;
    const onBadRecord = (error: Error, key: string): void => log.error({ key, error }, 'unreadable record');
    const hosts = new Table<Host>(store, keys.hosts, hostCodec, {
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
      onChange: (name, now) => {
        if (now?.value.state !== 'lost') this.#lostAtMs.delete(name);
        else if (!this.#lostAtMs.has(name)) this.#lostAtMs.set(name, clock.monotonicMs());
        listener.onStanding(name);
      },
    });
    const pools = new PoolFeed(store, keys, this.state.pools, {
      onBadRecord,
      onCapacityFreed: (resource) => listener.onSharedRoom(resource),
    });
    this.#tables = [hosts, alive, ledgers, this.#eligibility, pools];
    const readies = [hosts.ready, alive.ready, ledgers.ready, pools.ready, this.#eligibility.ready];
    this.ready = Promise.all(readies);
    // A term that ends before it has begun waits for nobody.
    this.ready.catch(() => undefined);
  }

  /** The ledger carries the verdict that commits obey; the deadline of a drain stands only in the verdict itself. */
  standing(host: string): HostCondition {
    const verdict = this.#eligibility.get(host)?.value;
    const { state } = this.book.get(host).ledger;
    const drainDeadlineMs = verdict?.drainDeadlineMs ?? null;
    const lostAtMs = this.#lostAtMs.get(host);
    if (state !== 'lost' || lostAtMs === undefined) return { state, drainDeadlineMs };
    const cutOffMs = (verdict?.silentMs ?? 0) + this.#clock.monotonicMs() - lostAtMs;
    return { state, drainDeadlineMs, cutOffMs };
  }

  /** For system jobs: every host that can run the group, whether or not it takes work now. */
  matching(group: Group): readonly MatchingHost[] {
    const result: MatchingHost[] = [];
    for (const { host, ledger, alive } of this.state.views()) {
      if (!hasDriver(host) || !group.constraints.every((expression) => meets(host, expression))) continue;
      result.push({ host: host.id, ready: alive && ledger.state === 'ready' });
    }
    return result;
  }

  /**
   * Takes over what the book knows of the host, whether a reply to our own commit or the watch brought it: both must tell
   * of the room that a release makes, since only the first of them is news.
   */
  syncLedger(host: string): void {
    const { ledger, revision } = this.book.get(host);
    const before = this.#applied.get(host) ?? EMPTY_LEDGER;
    if (ledger === before) return;
    this.#applied.set(host, ledger);
    this.state.setLedger(host, ledger, revision);
    if (before.state !== ledger.state) this.#listener.onStanding(host);
    if (hasMoreRoom(before, ledger)) this.#listener.onRoom(host);
  }

  close(): void {
    for (const table of this.#tables) table.close();
  }

  #onHost(name: string, host: Host | undefined): void {
    if (host === undefined) {
      this.state.removeHost(name);
    } else {
      this.state.setHost(host);
      this.#listener.onRoom(name);
    }
    this.#listener.onHost(name);
  }

  #onAlive(host: string, alive: boolean): void {
    this.state.setAlive(host, alive);
    if (alive) this.#listener.onRoom(host);
    this.#listener.onHost(host);
  }
}

/** Is there anything that fits the new ledger and did not fit the old one? May say yes where there is not. */
function hasMoreRoom(before: Ledger, now: Ledger): boolean {
  if (before.state !== now.state) return now.state === 'ready';
  if (now.ports.length < before.ports.length) return true;
  if (before.gpuMilli.some((milli, device) => milli > (now.gpuMilli[device] ?? 0))) return true;
  return hasNegative(subtractResources(usedOf(now), usedOf(before)));
}
