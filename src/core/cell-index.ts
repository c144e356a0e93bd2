import { CapacityTree, FewHosts, ManyHosts, ROW } from './capacity-tree.ts';
import { EvictableIndex } from './evictable-index.ts';
import { HostClasses } from './host-classes.ts';
import type { Host } from './host.ts';
import type { HostSlot, Use } from './host-slot.ts';
import { fillRow, shiftRow, takesWork } from './host-slot.ts';

/** Part trees may hold so many times the cell's hosts together; what was used longest ago goes first. */
const PART_HOSTS_FACTOR = 4;
const PART_HOSTS_SPARE = 4096;
/** A tree over the hosts of some classes only. */
interface Part {
  readonly tree: CapacityTree;
  readonly classes: readonly number[];
  lastUse: number;
}

/** The tables that placing reads: one row of free amounts a host, and trees over them that every change updates. */
export class CellIndex {
  readonly classes = new HostClasses();
  /** All hosts. */
  readonly all = new CapacityTree(new ManyHosts());
  /** All hosts by what they would have free if the lower precedences gave way. */
  readonly evictable = new EvictableIndex(this);
  /** Scratch for the need of the request at hand: one decision is made at a time. */
  readonly need = new Float64Array(ROW);
  /** 1 for hosts whose row may be old: `CellState` reads what is new before anybody decides by it. */
  unread = new Uint8Array(16);
  /** How many those are. */
  unreadCount = 0;
  /** Brings a host's row up to date. */
  read: (host: number) => void = () => undefined;
  readonly #slots: (HostSlot | undefined)[] = [];
  readonly #unused: number[] = [];
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

  /** All host indices are below. */
  get indexBound(): number {
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
      slot.index = this.#unused.pop() ?? this.#slots.length;
      this.#slots[slot.index] = slot;
      this.#room(slot.index);
      this.all.add(slot.index);
    }
    this.classes.set(slot.index, host);
    this.refill(slot);
  }

  remove(slot: HostSlot): void {
    this.all.remove(slot.index);
    this.classes.remove(slot.index);
    this.#slots[slot.index] = undefined;
    this.#unused.push(slot.index);
    this.evictable.mark(slot.index);
    slot.index = -1;
  }

  /** Computes the host's row anew: its ledger changed. */
  refill(slot: HostSlot): void {
    if (slot.host === undefined || slot.index < 0) return;
    fillRow(slot, slot.host, this.#rows, slot.index * ROW);
    this.#carry(slot);
  }

  /** Takes or gives back one use on the host. */
  shift(slot: HostSlot, use: Use, sign: 1 | -1): void {
    if (slot.index < 0) return;
    shiftRow(slot, this.#rows, slot.index * ROW, use, sign);
    this.#carry(slot);
  }

  /** The tree over the hosts of some classes, kept up to date from now on. */
  partOf(key: string, classes: readonly number[]): CapacityTree {
    if (this.#partsVersion !== this.classes.version) this.#dropParts();
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
    const tree = new CapacityTree(new FewHosts());
    for (const number of classes) {
      for (const index of this.classes.classes[number]?.hosts ?? []) {
        tree.add(index);
        tree.update(index, this.#rows, index * ROW, takesWork(this.slot(index)));
      }
    }
    return tree;
  }

  #carry(slot: HostSlot): void {
    const { index } = slot;
    const takes = takesWork(slot);
    this.all.update(index, this.#rows, index * ROW, takes);
    this.evictable.mark(index);
    const parts = this.#partsOfClass[this.classes.classOf[index] ?? -1];
    if (parts === undefined || this.#partsVersion !== this.classes.version) return;
    for (const tree of parts) tree.update(index, this.#rows, index * ROW, takes);
  }

  #trim(keep: string): void {
    const most = PART_HOSTS_FACTOR * this.all.size + PART_HOSTS_SPARE;
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

  #room(index: number): void {
    if (index >= this.unread.length) {
      const wider = new Uint8Array(2 * index);
      wider.set(this.unread);
      this.unread = wider;
    }
    while (this.#rows.length < (index + 1) * ROW) {
      const wider = new Float64Array(2 * this.#rows.length);
      wider.set(this.#rows);
      this.#rows = wider;
    }
  }
}
