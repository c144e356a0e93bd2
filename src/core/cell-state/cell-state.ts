/**
 * A scheduler's private copy of the cell: hosts, their ledgers as last seen, and on top of those its own claims in flight.
 * A guess, never the truth: only the compare of a commit is. Every change of a host goes through `CellState` into the
 * search tables:
 *
 * - `host-slot.ts`: all that is known of one host, and its row of free amounts
 * - `host-order.ts`: the order of the hosts, the same in all schedulers
 * - `host-tables.ts`: growing tables and counts by host index
 * - `cell-index.ts`: the table of all rows, and the trees over it
 * - `capacity-tree.ts`: a tournament tree that finds hosts with enough free
 * - `host-classes.ts`: hosts with equal attributes, so that constraints are tested once a class
 * - `selection.ts`: the classes that a group may use, in strata of equal preference; `selections.ts` keeps those last used
 * - `spread-shares.ts`: the share of each value of a spread attribute
 * - `preemption-index.ts`: trees over what would be free without lower precedences; `band-table.ts`: what each precedence holds
 * - `neighbour-trees.ts`: trees over the hosts where nothing is in the way of some classes of interference, or that have some
 * - `neighbour-domains.ts`: the hosts, racks, zones and so on that have some class, or who avoids it that far
 * - `gpu-stock.ts`: free devices by model
 *
 * `docs/decisions/private-cell-state.md`
 */
import { CellIndex } from './cell-index.ts';
import type { Claim } from '../cell/claim.ts';
import { SURPLUS_PRECEDENCE } from '../cell/claim.ts';
import type { Host } from '../host/host.ts';
import { allocatable } from '../host/host.ts';
import type { HostSlot, KnownHost } from './host-slot.ts';
import { newSlot, NO_CLAIMS, noteFreed, register } from './host-slot.ts';
import type { Ledger } from '../fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../fit/ledger.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';
import { PoolBook } from '../quota/pool-book.ts';
import type { Scale } from '../scoring/scoring.ts';
import type { NeighbourDomains } from './neighbour-domains.ts';
import { Selections } from './selections.ts';

/** One host for the filters: the ledger counts the scheduler's own claims in flight. */
export interface HostSnapshot {
  readonly host: Host;
  readonly ledger: Ledger;
  readonly alive: boolean;
  readonly paused: string | null;
  readonly pools: PoolBook;
  readonly domains: NeighbourDomains;
}

export class CellState {
  /** The tables that placement reads. */
  readonly index = new CellIndex();
  readonly selections: Selections;
  readonly pools: PoolBook;
  readonly #slots = new Map<string, HostSlot>();
  #inFlight = 0;
  /** Hosts whose ledgers hold surplus of elastic groups. */
  #withSurplus = 0;
  /** Hosts whose newest ledger is not read yet. */
  readonly #unread = new Set<HostSlot>();
  readonly #readLedger: (id: string) => void;
  #scale: Scale = { cpuMilli: 0, memoryMib: 0, gpuMilli: 0 };

  /** @param readLedger calls `setLedger` for a host that `setUnread` named */
  constructor(readLedger: (id: string) => void = () => undefined, pools = new PoolBook()) {
    this.#readLedger = readLedger;
    this.pools = pools;
    this.selections = new Selections(this.index, pools);
    this.index.read = (host) => this.#read(this.index.slot(host));
  }

  /** How many hosts are registered. */
  get size(): number {
    return this.index.size;
  }

  /** How many claims are assumed. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Has any host surplus of elastic groups, as far as ledgers were read? */
  get hasSurplus(): boolean {
    return this.#withSurplus > 0;
  }

  /** The largest allocatable amounts of any host seen so far. */
  get scale(): Scale {
    return this.#scale;
  }

  setHost(host: Host): void {
    const slot = this.#slot(host.id);
    register(slot, host);
    this.index.add(slot, host);
    const { cpuMilli, memoryMib } = allocatable(host);
    this.#scale = {
      cpuMilli: Math.max(this.#scale.cpuMilli, cpuMilli),
      memoryMib: Math.max(this.#scale.memoryMib, memoryMib),
      gpuMilli: Math.max(this.#scale.gpuMilli, host.gpuModels.length * GPU_MILLI_PER_DEVICE),
    };
  }

  /** The registration is gone. The rest of what is known stays, for the host may come back. */
  removeHost(id: string): void {
    const slot = this.#slots.get(id);
    if (slot?.host === undefined) return;
    if (slot.unread) this.#read(slot);
    slot.host = undefined;
    this.index.remove(slot);
  }

  /** Puts the hosts in the order that all schedulers keep, when more than a few came or went since. Indices change. */
  arrange(): void {
    this.index.arrange();
  }

  /** A host is not alive until this says so. */
  setAlive(id: string, alive: boolean): void {
    const slot = this.#slot(id);
    if (slot.alive === alive) return;
    slot.alive = alive;
    this.index.refill(slot);
  }

  isAlive(id: string): boolean {
    return this.#slots.get(id)?.alive === true;
  }

  /** @param why placement there is paused, for people; null: it goes on. @returns whether it goes on again */
  setPaused(id: string, why: string | null): boolean {
    const slot = this.#slot(id);
    const before = slot.paused;
    slot.paused = why;
    if ((before === null) === (why === null)) return false;
    this.index.refill(slot);
    return why === null;
  }

  /** The ledger at a store revision. An older one than known is ignored: watch events may come late or twice. */
  setLedger(id: string, ledger: Ledger, revision: number): void {
    const slot = this.#slot(id);
    if (revision < slot.revision) return;
    if (slot.unread) this.#forgetUnread(slot);
    noteFreed(slot, slot.ledger.ports, ledger.ports);
    this.#withSurplus += Number(holdsSurplus(ledger)) - Number(holdsSurplus(slot.ledger));
    slot.ledger = ledger;
    slot.revision = revision;
    this.index.refill(slot);
  }

  /** The host's ledger has changed; it is read when a search draws the host, or fails. */
  setUnread(id: string): void {
    const slot = this.#slot(id);
    if (slot.unread) return;
    slot.unread = true;
    this.#unread.add(slot);
    if (slot.index < 0) this.#read(slot);
    else this.index.unread[slot.index] = 1;
    this.index.unreadCount = this.#unread.size;
  }

  /** Reads all unread ledgers. @returns whether there were any */
  readAll(): boolean {
    if (this.#unread.size === 0) return false;
    for (const slot of [...this.#unread]) this.#read(slot);
    return true;
  }

  /**
   * Counts the claim as given away until `forget`.
   * @param known the claim's host, if the caller has it
   */
  assume(claim: Claim, known?: KnownHost): void {
    const slot = this.#slotAt(known) ?? this.#slot(claim.host);
    if (placeIn(slot.inFlight, claim.id) >= 0) throw new Error(`claim ${claim.id} is assumed already`);
    this.#inFlight += 1;
    // Most hosts have one claim in flight, and a list literal of one takes less memory than a list that grew.
    if (slot.inFlight.length === 0) slot.inFlight = [claim];
    else slot.inFlight.push(claim);
    this.index.shift(slot, claim, 1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, 1);
  }

  /**
   * Ends an assumption: the claim was refused, or it was committed and a ledger with it was set. Ignores unknown claims.
   * A claim is found on its host, which mostly has one: a map of all claims by id would be rebuilt all the time and let
   * twice as much memory survive young garbage collections.
   */
  forget({ id, host }: Pick<Claim, 'id' | 'host'>, known?: KnownHost): void {
    const slot = this.#slotAt(known) ?? this.#slots.get(host);
    const place = slot === undefined ? -1 : placeIn(slot.inFlight, id);
    const claim = slot?.inFlight[place];
    if (slot === undefined || claim === undefined) return;
    this.#inFlight -= 1;
    if (slot.inFlight.length === 1) slot.inFlight = NO_CLAIMS;
    else {
      const last = slot.inFlight.pop();
      if (last !== undefined && last !== claim) slot.inFlight[place] = last;
    }
    this.index.shift(slot, claim, -1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, -1);
  }

  /** Counts a claim of the ledger, for a question, as not there. `putBack` ends that. */
  lift(claim: Claim): void {
    this.index.shift(this.#slot(claim.host), claim, -1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, -1);
  }

  putBack(claim: Claim): void {
    this.index.shift(this.#slot(claim.host), claim, 1);
    if (claim.shared !== undefined) this.pools.assume(claim.shared, 1);
  }

  hostOf(id: string): Host | undefined {
    return this.#slots.get(id)?.host;
  }

  /** The host by its id: always the same object, also while it is not registered. */
  known(id: string): KnownHost {
    return this.#slot(id);
  }

  /** The host's index in the tables; −1: not registered. */
  indexOf(id: string): number {
    return this.#slots.get(id)?.index ?? -1;
  }

  /** The known ledger plus the claims in flight. */
  ledgerOf(id: string): Ledger {
    const slot = this.#slots.get(id);
    if (slot?.unread === true) this.#read(slot);
    return slot === undefined ? EMPTY_LEDGER : ledgerWithOwn(slot);
  }

  /** Every registered host. */
  *views(): IterableIterator<HostSnapshot> {
    this.readAll();
    for (const slot of this.#slots.values()) {
      const { host, alive, paused } = slot;
      if (host !== undefined)
        yield {
          ...{ host, ledger: ledgerWithOwn(slot), alive, paused },
          ...{ pools: this.pools, domains: this.index.domains },
        };
    }
  }

  #read(slot: HostSlot): void {
    this.#forgetUnread(slot);
    this.#readLedger(slot.id);
  }

  #forgetUnread(slot: HostSlot): void {
    slot.unread = false;
    this.#unread.delete(slot);
    if (slot.index >= 0) this.index.unread[slot.index] = 0;
    this.index.unreadCount = this.#unread.size;
  }

  #slotAt(known: KnownHost | undefined): HostSlot | null {
    const slot = known === undefined ? null : this.index.slotAt(known.index);
    return slot === known ? slot : null;
  }

  #slot(id: string): HostSlot {
    let slot = this.#slots.get(id);
    if (slot === undefined) {
      slot = newSlot(id);
      this.#slots.set(id, slot);
    }
    return slot;
  }
}

function holdsSurplus({ bands }: Ledger): boolean {
  return bands[0]?.precedence === SURPLUS_PRECEDENCE;
}

function placeIn(claims: readonly Claim[], id: string): number {
  for (let n = 0; n < claims.length; n++) if (claims[n]!.id === id) return n;
  return -1;
}

function ledgerWithOwn(slot: HostSlot): Ledger {
  let ledger = slot.ledger;
  for (const claim of slot.inFlight) ledger = withClaim(ledger, claim);
  return ledger;
}
