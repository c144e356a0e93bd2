import { BandTable } from './band-table.ts';
import {
  CapacityTree,
  CPU,
  DISK,
  GPU_LARGEST,
  GPU_TOTAL,
  GPU_WHOLE,
  MEMORY,
  ROW,
  TAKES,
} from './capacity-tree.ts';
import type { HostSlot } from './host-slot.ts';
import { widened } from './host-tables.ts';
import { GPU_MILLI_PER_DEVICE } from './resources.ts';

/** A tree over all hosts for each precedence that evicts; a cell has few such. What was used longest ago goes first. */
const TREES_MAX = 3;

/** What the trees are made of; `CellIndex` in this program. */
export interface EvictableSource {
  readonly rows: Float64Array;
  slot(index: number): HostSlot;
  /** All host indices are below. */
  readonly size: number;
}

/**
 * Trees over what each host would have free if everything below a precedence gave way. Made when somebody first asks, and
 * brought up to date only when somebody asks again: placing pays for one mark a change, and nothing before the first
 * eviction.
 */
export class EvictableIndex {
  /** What each precedence holds of each host, as `treeBelow` found it when it was last asked. */
  readonly bands = new BandTable();
  readonly #source: EvictableSource;
  readonly #trees = new Map<number, CapacityTree>();
  readonly #dirty: number[] = [];
  #isDirty = new Uint8Array(16);
  readonly #row = new Float64Array(ROW);

  constructor(source: EvictableSource) {
    this.#source = source;
  }

  /** The host's room changed, or it came or went. */
  mark(host: number): void {
    if (this.#trees.size === 0) return;
    this.#isDirty = widened(this.#isDirty, host + 1);
    if (this.#isDirty[host] === 1) return;
    this.#isDirty[host] = 1;
    this.#dirty.push(host);
  }

  /**
   * Hosts by what is free on them with all below the precedence gone. Devices are not told apart by precedence in a
   * ledger, so a host with anything below it counts with all of its devices: enough is necessary, not sufficient.
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
      this.#isDirty[host] = 0;
      if (host >= this.#source.size) continue;
      this.bands.set(host, this.#source.slot(host));
      for (const [precedence, tree] of this.#trees) this.#refill(tree, precedence, host);
    }
    this.#dirty.length = 0;
  }

  #refill(tree: CapacityTree, precedence: number, host: number): void {
    const row = this.#row;
    const from = host * ROW;
    for (let i = 0; i < ROW; i++) row[i] = this.#source.rows[from + i]!;
    if (row[TAKES] === 1 && !addBelow(this.#source.slot(host), precedence, row)) row[TAKES] = 0;
    tree.update(host, row, 0);
  }
}

/** Adds what is held below the precedence. @returns false when nothing is */
function addBelow(slot: HostSlot, precedence: number, row: Float64Array): boolean {
  let any = false;
  for (const name in slot.ledger.bands) {
    const band = slot.ledger.bands[name];
    if (band === undefined || Number(name) >= precedence) continue;
    any = true;
    row[CPU]! += band.cpuMilli;
    row[MEMORY]! += band.memoryMib;
    row[DISK]! += band.diskMib;
  }
  const devices = slot.gpuUsed.length;
  if (!any || devices === 0) return any;
  row[GPU_TOTAL] = devices * GPU_MILLI_PER_DEVICE;
  row[GPU_LARGEST] = GPU_MILLI_PER_DEVICE;
  row[GPU_WHOLE] = devices;
  return any;
}
