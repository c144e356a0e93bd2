import { BandTable, giveBack } from './band-table.ts';
import { CapacityTree, ROW, TAKES } from './capacity-tree.ts';
import type { HostSlot } from './host-slot.ts';
import { widened } from './host-tables.ts';

/** A tree over all hosts for each precedence that preempts; cells have few. The least recently used goes first. */
const TREES_MAX = 3;

/** What has changed of a host since the trees were last updated. */
const CLEAN = 0;
const ROOM = 1;
const LEDGER = 2;

/** The tables that the trees are built from: a `CellIndex`. */
export interface PreemptionSource {
  readonly rows: Float64Array;
  slot(index: number): HostSlot;
  readonly size: number;
}

/**
 * Trees over what each host would have free without everything below a precedence. Built and updated by `treeBelow`, so
 * placement pays for one mark a change, and nothing before the first preemption.
 */
export class PreemptionIndex {
  /** What each precedence holds of each host, as of the last `treeBelow`. */
  readonly bands = new BandTable();
  readonly #source: PreemptionSource;
  readonly #trees = new Map<number, CapacityTree>();
  readonly #dirty: number[] = [];
  #isDirty = new Uint8Array(16);
  readonly #row = new Float64Array(ROW);

  constructor(source: PreemptionSource) {
    this.#source = source;
  }

  /**
   * What is free on the host changed, or the host came or went.
   * @param ledger true: its ledger may have changed too
   */
  mark(host: number, ledger: boolean): void {
    if (this.#trees.size === 0) return;
    this.#isDirty = widened(this.#isDirty, host + 1);
    const before = this.#isDirty[host];
    if (before === CLEAN) this.#dirty.push(host);
    if (before !== LEDGER) this.#isDirty[host] = ledger ? LEDGER : ROOM;
  }

  /**
   * Hosts by what is free without all below the precedence. A ledger does not say which precedence holds a device, so all
   * devices of a host with anything below count as free: necessary, not sufficient.
   */
  treeBelow(precedence: number): CapacityTree {
    this.#catchUp();
    const known = this.#trees.get(precedence);
    if (known !== undefined) {
      this.#trees.delete(precedence);
      this.#trees.set(precedence, known);
      return known;
    }
    if (this.#trees.size === 0)
      for (let host = 0; host < this.#source.size; host++) this.bands.set(host, this.#source.slot(host));
    const tree = new CapacityTree();
    tree.resize(this.#source.size);
    for (let host = 0; host < this.#source.size; host++) this.#refill(tree, precedence, host);
    this.#trees.set(precedence, tree);
    if (this.#trees.size > TREES_MAX) this.#trees.delete(this.#trees.keys().next().value ?? -1);
    return tree;
  }

  #catchUp(): void {
    for (const tree of this.#trees.values()) tree.resize(this.#source.size);
    for (const host of this.#dirty) {
      const dirty = this.#isDirty[host];
      this.#isDirty[host] = CLEAN;
      if (host >= this.#source.size) continue;
      if (dirty === LEDGER) this.bands.set(host, this.#source.slot(host));
      for (const [precedence, tree] of this.#trees) this.#refill(tree, precedence, host);
    }
    this.#dirty.length = 0;
  }

  #refill(tree: CapacityTree, precedence: number, host: number): void {
    const row = this.#row;
    const from = host * ROW;
    for (let i = 0; i < ROW; i++) row[i] = this.#source.rows[from + i]!;
    if (row[TAKES] === 1 && !this.#addBelow(host, precedence)) row[TAKES] = 0;
    tree.update(host, row, 0);
  }

  /** Adds what is held below the precedence to the row. @returns false when nothing is */
  #addBelow(host: number, precedence: number): boolean {
    if (this.bands.covers(host)) return this.bands.addBelow(host, precedence, this.#row);
    const { ledger, gpuUsed } = this.#source.slot(host);
    let any = false;
    for (const band of ledger.bands) {
      if (band.precedence >= precedence) break;
      const { cpuMilli, memoryMib, diskMib } = band;
      giveBack(this.#row, cpuMilli, memoryMib, diskMib, gpuUsed.length);
      any = true;
    }
    return any;
  }
}
