import { CapacityTree, ROW } from './capacity-tree.ts';
import { PreemptionIndex } from './preemption-index.ts';
import { NeighbourDomains } from './neighbour-domains.ts';
import { NeighbourTrees } from './neighbour-trees.ts';
import { HostClasses } from './host-classes.ts';
import { HostTally, widened } from './host-tables.ts';
import { GpuStock } from './gpu-stock.ts';
import { inOrder, orderOf } from './host-order.ts';
import type { Host } from '../host/host.ts';
import type { HostSlot, Use } from './host-slot.ts';
import { fillRow, shiftRow } from './host-slot.ts';

/** Bound on the hosts in all class trees together; the least recently used tree goes first. */
const PART_HOSTS_FACTOR = 4;
const PART_HOSTS_SPARE = 4096;
/** One host of so many may be out of order: to put 100,000 in order takes a tenth of a second. */
const DISPLACED_SHARE = 64;

/** A tree over the hosts of some classes. */
interface Part {
  readonly tree: CapacityTree;
  readonly classes: readonly number[];
  lastUse: number;
}

/**
 * The tables that placement reads: one row of free amounts a host, and trees over them.
 *
 * Host indices are in random order, and so is every table. So the neighbours that a search compares are a fair sample,
 * and lie side by side in memory: a cell of 100,000 hosts fits no processor's cache. The order is by a hash of the id, so
 * that all schedulers mean the same hosts by a part of it, whenever each began. A host that joins takes about its place,
 * and the host that was there moves to the end, until `arrange`.
 */
export class CellIndex {
  readonly classes = new HostClasses();
  /** All hosts by what they would have free without lower precedences. */
  readonly preemption = new PreemptionIndex(this);
  /** The hosts by what they have free for neighbours of some classes. */
  readonly neighbours = new NeighbourTrees(this);
  /** The values of attributes that have neighbours of some classes. */
  readonly domains = new NeighbourDomains(this);
  /** Scratch for the need of the current request: one decision is made at a time. */
  readonly need = new Float64Array(ROW);
  /** 1 for hosts with an unread ledger: a search calls `read` before it decides by their row. */
  unread = new Uint8Array(16);
  unreadCount = 0;
  /** Brings a host's row up to date. Set by `CellState`. */
  read: (host: number) => void = () => undefined;
  /** Scratch: how many allocations of the current group each host has. */
  readonly groupTally = new HostTally();
  readonly #slots: HostSlot[] = [];
  /** Null until first used: only some policies need it. */
  #gpuStock: GpuStock | null = null;
  readonly #all = new CapacityTree();
  /** Hosts whose rows have changed since the trees were last updated, and a 1 for each. */
  readonly #stale: number[] = [];
  #isStale = new Uint8Array(16);
  /** Hosts that came or went since the hosts were put in order. */
  #displaced = 0;
  #rows = new Float64Array(16 * ROW);
  #uses = 0;
  readonly #parts = new Map<string, Part>();
  #partsOfClass: CapacityTree[][] = [];
  #partHosts = 0;
  #partsVersion = 0;

  /** What is free: `ROW` numbers for each host index. Read only. */
  get rows(): Float64Array {
    return this.#rows;
  }

  /** The tree over all hosts. */
  get all(): CapacityTree {
    this.catchUp();
    return this.#all;
  }

  get gpuStock(): GpuStock {
    if (this.#gpuStock !== null) return this.#gpuStock;
    this.#gpuStock = new GpuStock();
    for (const slot of this.#slots) this.#gpuStock.set(slot);
    return this.#gpuStock;
  }

  /** The number of hosts; all indices are below. */
  get size(): number {
    return this.#slots.length;
  }

  /** null: no host has the index. */
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
      this.#widen(last + 1);
      const index = Math.floor(orderOf(slot.id) * (last + 1));
      if (index !== last) this.#move(index, last);
      this.#slots[index] = slot;
      slot.index = index;
      this.unread[index] = 0;
      this.#displaced += 1;
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
    this.#displaced += 1;
    this.#all.resize(last);
    this.#markApart(last, true);
    slot.index = -1;
    this.domains.mark(slot);
  }

  /** Puts all hosts in order, if more than a few are not. Indices change, as when a host comes or goes. */
  arrange(): void {
    if (this.#displaced <= this.size / DISPLACED_SHARE) return;
    this.#displaced = 0;
    for (const [index, slot] of inOrder(this.#slots).entries()) {
      if (slot.index === index || slot.host === undefined) continue;
      this.#slots[index] = slot;
      slot.index = index;
      this.unread[index] = slot.unread ? 1 : 0;
      this.classes.set(index, slot.host);
      this.refill(slot);
    }
    this.classes.reordered();
  }

  /** Computes the host's row again, since its ledger changed. */
  refill(slot: HostSlot): void {
    if (slot.host === undefined || slot.index < 0) return;
    fillRow(slot, this.#rows, slot.index * ROW);
    this.#gpuStock?.set(slot);
    this.#markApart(slot.index, true);
    this.domains.mark(slot);
    this.#mark(slot.index);
  }

  /** Adds (`sign` 1) or removes (−1) one use on the host. */
  shift(slot: HostSlot, use: Use, sign: 1 | -1): void {
    if (slot.index < 0) return;
    shiftRow(slot, this.#rows, slot.index * ROW, use, sign);
    if (use.gpus.length > 0) this.#gpuStock?.set(slot);
    this.#markApart(slot.index, false);
    this.domains.markShift(slot, use.resources.scalars);
    this.#mark(slot.index);
  }

  /** Brings the trees up to the rows: once when a search begins, so that a host with many changes costs one climb. */
  catchUp(): void {
    for (const host of this.#stale) {
      this.#isStale[host] = 0;
      if (host < this.size) this.#carry(host);
    }
    this.#stale.length = 0;
  }

  /** The tree over the hosts of some classes. */
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

  /** For the trees that are built when they are needed. @param ledger true: the host's ledger may have changed */
  #markApart(index: number, ledger: boolean): void {
    this.preemption.mark(index, ledger);
    this.neighbours.mark(index);
  }

  #carry(index: number): void {
    this.#all.update(index, this.#rows, index * ROW);
    if (this.#parts.size === 0 || this.#partsVersion !== this.classes.version) return;
    const parts = this.#partsOfClass[this.classes.classOf[index] ?? -1];
    if (parts === undefined) return;
    for (const tree of parts) tree.update(index, this.#rows, index * ROW);
  }

  /** Moves a host from one index to another. */
  #move(from: number, to: number): void {
    const slot = this.slot(from);
    this.#slots[to] = slot;
    slot.index = to;
    this.#rows.copyWithin(to * ROW, from * ROW, (from + 1) * ROW);
    this.unread[to] = this.unread[from] ?? 0;
    this.classes.move(from, to);
    this.#mark(to);
    this.#markApart(to, true);
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

  /** The classes were rebuilt or changed hosts: the class trees are stale. */
  #dropParts(): void {
    this.#parts.clear();
    this.#partsOfClass = [];
    this.#partHosts = 0;
    this.#partsVersion = this.classes.version;
  }

  #widen(size: number): void {
    this.#all.resize(size);
    this.unread = widened(this.unread, size);
    this.#isStale = widened(this.#isStale, size);
    this.#rows = widened(this.#rows, size * ROW);
  }
}
