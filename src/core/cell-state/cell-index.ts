import { CapacityTree, ROW } from './capacity-tree.ts';
import { PreemptionIndex } from './preemption-index.ts';
import { HostClasses } from './host-classes.ts';
import { HostTally, widened } from './host-tables.ts';
import { GpuStock } from './gpu-stock.ts';
import type { Host } from '../host/host.ts';
import type { HostSlot, Use } from './host-slot.ts';
import { fillRow, shiftRow } from './host-slot.ts';

/** Part trees may hold so many times the cell's hosts together; what was used longest ago goes first. */
const PART_HOSTS_FACTOR = 4;
const PART_HOSTS_SPARE = 4096;
/** A tree over the hosts of some classes only. */
interface Part {
  readonly tree: CapacityTree;
  readonly classes: readonly number[];
  lastUse: number;
}

/**
 * The tables that placing reads: one row of free amounts a host, and trees over them that every change updates.
 *
 * Hosts have their indices in a random order, and every table lies in it. So the hosts that one search compares, which
 * are neighbours, are a fair sample, and what is read of them is side by side in memory: a cell of 100,000 hosts fits no
 * processor's cache. A host that joins takes a random place, and the one that was there moves to the end.
 */
export class CellIndex {
  readonly classes = new HostClasses();
  /** All hosts by what they would have free if the lower precedences gave way. */
  readonly preemption = new PreemptionIndex(this);
  /** Scratch for the need of the request at hand: one decision is made at a time. */
  readonly need = new Float64Array(ROW);
  /** 1 for hosts whose row may be old: `CellState` reads what is new before anybody decides by it. */
  unread = new Uint8Array(16);
  /** How many those are. */
  unreadCount = 0;
  /** Brings a host's row up to date. */
  read: (host: number) => void = () => undefined;
  /** How often the group at hand has each host: one decision is made at a time. */
  readonly groupTally = new HostTally();
  readonly #slots: HostSlot[] = [];
  /** Null until somebody asks: only some policies do. */
  #gpuStock: GpuStock | null = null;
  readonly #all = new CapacityTree();
  /** Hosts whose rows have changed since the trees last saw them, and 1 for each of these. */
  readonly #stale: number[] = [];
  #isStale = new Uint8Array(16);
  #shuffle = 1;
  #rows = new Float64Array(16 * ROW);
  #uses = 0;
  readonly #parts = new Map<string, Part>();
  #partsOfClass: CapacityTree[][] = [];
  #partHosts = 0;
  #partsVersion = 0;

  /** What is free, a row of `ROW` numbers by host index. Read only. */
  get rows(): Float64Array {
    return this.#rows;
  }

  /** All hosts, by what is free on them now. */
  get all(): CapacityTree {
    this.catchUp();
    return this.#all;
  }

  /** The devices that are free now, by model. */
  get gpuStock(): GpuStock {
    if (this.#gpuStock !== null) return this.#gpuStock;
    this.#gpuStock = new GpuStock();
    for (const slot of this.#slots) this.#gpuStock.set(slot);
    return this.#gpuStock;
  }

  /** How many hosts there are: all indices are below. */
  get size(): number {
    return this.#slots.length;
  }

  /** The slot of the host, null when no host has the index. */
  slotAt(index: number): HostSlot | null {
    return this.#slots[index] ?? null;
  }

  /** The slot of a registered host. */
  slot(index: number): HostSlot {
    const slot = this.#slots[index];
    if (slot === undefined) throw new Error(`no host has the index ${String(index)}`);
    return slot;
  }

  add(slot: HostSlot, host: Host): void {
    if (slot.index < 0) {
      const last = this.#slots.length;
      this.#room(last + 1);
      const index = this.#below(last + 1);
      if (index !== last) this.#move(index, last);
      this.#slots[index] = slot;
      slot.index = index;
      this.unread[index] = 0;
    }
    this.classes.set(slot.index, host);
    this.refill(slot);
  }

  remove(slot: HostSlot): void {
    const { index } = slot;
    const last = this.#slots.length - 1;
    this.classes.remove(index);
    this.#gpuStock?.remove(slot);
    if (index !== last) this.#move(last, index);
    this.#slots.pop();
    this.#all.resize(last);
    this.preemption.mark(last, true);
    slot.index = -1;
  }

  /** Computes the host's row anew: its ledger changed. */
  refill(slot: HostSlot): void {
    if (slot.host === undefined || slot.index < 0) return;
    fillRow(slot, this.#rows, slot.index * ROW);
    this.#gpuStock?.set(slot);
    this.preemption.mark(slot.index, true);
    this.#mark(slot.index);
  }

  /** Takes or gives back one use on the host. */
  shift(slot: HostSlot, use: Use, sign: 1 | -1): void {
    if (slot.index < 0) return;
    shiftRow(slot, this.#rows, slot.index * ROW, use, sign);
    if (use.gpus.length > 0) this.#gpuStock?.set(slot);
    this.preemption.mark(slot.index, false);
    this.#mark(slot.index);
  }

  /**
   * Brings the trees up to the rows. Done when a search begins, so that a host which many claims came to and went from
   * meanwhile costs one climb; a search itself looks at no host of a tree again that it has taken.
   */
  catchUp(): void {
    for (const host of this.#stale) {
      this.#isStale[host] = 0;
      if (host < this.size) this.#carry(host);
    }
    this.#stale.length = 0;
  }

  /** The tree over the hosts of some classes, kept up to date from now on. */
  partOf(key: string, classes: readonly number[]): CapacityTree {
    if (this.#partsVersion !== this.classes.version) this.#dropParts();
    this.catchUp();
    const known = this.#parts.get(key);
    this.#uses += 1;
    if (known !== undefined) {
      known.lastUse = this.#uses;
      return known.tree;
    }
    const part = { tree: this.#grow(classes), classes, lastUse: this.#uses };
    this.#parts.set(key, part);
    this.#partHosts += part.tree.size;
    for (const number of classes) (this.#partsOfClass[number] ??= []).push(part.tree);
    this.#trim(key);
    return part.tree;
  }

  #grow(classes: readonly number[]): CapacityTree {
    const tree = new CapacityTree(classes.flatMap((number) => this.classes.classes[number]?.hosts ?? []));
    for (let position = 0; position < tree.size; position++) {
      const host = tree.hostAt(position);
      tree.update(host, this.#rows, host * ROW);
    }
    return tree;
  }

  #mark(index: number): void {
    if (this.#isStale[index] === 1) return;
    this.#isStale[index] = 1;
    this.#stale.push(index);
  }

  #carry(index: number): void {
    this.#all.update(index, this.#rows, index * ROW);
    if (this.#parts.size === 0 || this.#partsVersion !== this.classes.version) return;
    const parts = this.#partsOfClass[this.classes.classOf[index] ?? -1];
    if (parts === undefined) return;
    for (const tree of parts) tree.update(index, this.#rows, index * ROW);
  }

  /** The host at `from` has its index at `to` from now on. */
  #move(from: number, to: number): void {
    const slot = this.slot(from);
    this.#slots[to] = slot;
    slot.index = to;
    this.#rows.copyWithin(to * ROW, from * ROW, (from + 1) * ROW);
    this.unread[to] = this.unread[from] ?? 0;
    this.classes.move(from, to);
    this.#mark(to);
    this.preemption.mark(to, true);
  }

  #trim(keep: string): void {
    const most = PART_HOSTS_FACTOR * this.size + PART_HOSTS_SPARE;
    if (this.#partHosts <= most) return;
    const oldestFirst = [...this.#parts].sort(([, a], [, b]) => a.lastUse - b.lastUse);
    for (const [key, part] of oldestFirst) {
      if (this.#partHosts <= most || key === keep) return;
      this.#parts.delete(key);
      this.#partHosts -= part.tree.size;
      for (const number of part.classes) {
        const trees = this.#partsOfClass[number] ?? [];
        trees.splice(trees.indexOf(part.tree), 1);
      }
    }
  }

  /** The classes were divided anew or changed hosts: the parts are of another cell. */
  #dropParts(): void {
    this.#parts.clear();
    this.#partsOfClass = [];
    this.#partHosts = 0;
    this.#partsVersion = this.classes.version;
  }

  #room(size: number): void {
    this.#all.resize(size);
    this.unread = widened(this.unread, size);
    this.#isStale = widened(this.#isStale, size);
    this.#rows = widened(this.#rows, size * ROW);
  }

  /** The order only has to be unrelated to anything; the same inserts give the same order (Numerical Recipes' LCG). */
  #below(bound: number): number {
    this.#shuffle = (Math.imul(this.#shuffle, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#shuffle / 4_294_967_296) * bound);
  }
}
