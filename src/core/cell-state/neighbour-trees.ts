import { CapacityTree, ROW } from './capacity-tree.ts';
import type { HostClasses } from './host-classes.ts';
import type { HostSlot } from './host-slot.ts';
import { widened } from './host-tables.ts';
import { isInUse, mayJoin } from '../cell/interference.ts';

/** A tree for each way to be a neighbour, and each part of the hosts; cells have few. */
const TREES_MAX = 16;
/** One that was used within so many searches is not given up for another: to build one takes as long as hundreds of searches. */
const KEPT_FOR = 1_000;

/** The tables that the trees are built from: a `CellIndex`. */
export interface NeighbourSource {
  readonly rows: Float64Array;
  readonly classes: HostClasses;
  slot(index: number): HostSlot;
  readonly size: number;
}

/** Some hosts, by their classes. */
export interface HostPart {
  readonly key: string;
  readonly classes: readonly number[];
}

/** Which hosts a tree has, by the scalars in use there; each list in one order. */
export interface NeighbourRule {
  /** What must not be in use. */
  readonly opposed: readonly string[];
  /** What must be. */
  readonly wanted: readonly string[];
}

interface Kept {
  readonly tree: CapacityTree;
  readonly rule: NeighbourRule;
  /** Key of its part; null: it has all hosts. */
  readonly part: string | null;
  /** 1 for the classes of its part, by number. */
  readonly classes: Uint8Array;
  /** Of the classes. */
  readonly version: number;
  lastUse: number;
}

/**
 * Trees of the hosts where nothing is in the way of a neighbour of some classes, or that have some class, by what they have
 * free: where nearly every host has something that is avoided, the few others are found without a look at each. Built and updated by `treeFor`, so
 * that who says nothing of neighbours pays for one mark a change, and nothing before the first who does.
 */
export class NeighbourTrees {
  readonly #source: NeighbourSource;
  readonly #trees: Kept[] = [];
  readonly #dirty: number[] = [];
  #isDirty = new Uint8Array(16);
  #searches = 0;

  constructor(source: NeighbourSource) {
    this.#source = source;
  }

  /** What is free on the host or who is there changed, or the host came or went. */
  mark(host: number): void {
    if (this.#trees.length === 0) return;
    this.#isDirty = widened(this.#isDirty, host + 1);
    if (this.#isDirty[host] === 1) return;
    this.#isDirty[host] = 1;
    this.#dirty.push(host);
  }

  /**
   * @param part null: all hosts
   * @returns null: none is kept for these, and a search looks at each host
   */
  treeFor(rule: NeighbourRule, part: HostPart | null): CapacityTree | null {
    this.#searches += 1;
    const known = this.#find(rule, part?.key ?? null);
    if (known === null && !this.#makesRoom()) return null;
    this.#catchUp();
    const kept = known ?? this.#grow(rule, part);
    kept.lastUse = this.#searches;
    return kept.tree;
  }

  #find(rule: NeighbourRule, part: string | null): Kept | null {
    for (const kept of this.#trees)
      if (kept.part === part && this.#isCurrent(kept) && areSame(kept.rule, rule)) return kept;
    return null;
  }

  #isCurrent({ part, version }: Kept): boolean {
    return part === null || version === this.#source.classes.version;
  }

  /** Gives up what is of use no more, or else the tree that was used longest ago. @returns false: all are in use */
  #makesRoom(): boolean {
    const trees = this.#trees;
    for (let at = trees.length - 1; at >= 0; at--) if (!this.#isCurrent(trees[at]!)) trees.splice(at, 1);
    if (trees.length < TREES_MAX) return true;
    const oldest = trees.reduce((a, b) => (a.lastUse <= b.lastUse ? a : b));
    if (this.#searches - oldest.lastUse < KEPT_FOR) return false;
    trees.splice(trees.indexOf(oldest), 1);
    return true;
  }

  #grow(rule: NeighbourRule, part: HostPart | null): Kept {
    const { classes, version } = this.#source.classes;
    const isIn = new Uint8Array(classes.length);
    for (const number of part?.classes ?? []) isIn[number] = 1;
    const hosts = part?.classes.flatMap((number) => classes[number]?.hosts ?? []) ?? null;
    const tree = new CapacityTree(hosts);
    if (hosts === null) tree.resize(this.#source.size);
    const kept = { tree, rule, part: part?.key ?? null, classes: isIn, version, lastUse: this.#searches };
    for (let position = 0; position < tree.size; position++) this.#refill(kept, tree.hostAt(position));
    this.#trees.push(kept);
    return kept;
  }

  #catchUp(): void {
    const { size, classes } = this.#source;
    for (const { tree, part } of this.#trees) if (part === null) tree.resize(size);
    for (const host of this.#dirty) {
      this.#isDirty[host] = 0;
      if (host >= size) continue;
      const hostClass = classes.classOf[host]!;
      for (const kept of this.#trees)
        if (kept.part === null || (this.#isCurrent(kept) && kept.classes[hostClass] === 1))
          this.#refill(kept, host);
    }
    this.#dirty.length = 0;
  }

  #refill({ tree, rule }: Kept, host: number): void {
    const { scalars } = this.#source.slot(host);
    const isOpen = mayJoin(rule.opposed, scalars) && hasAll(rule.wanted, scalars);
    tree.update(host, this.#source.rows, host * ROW, isOpen);
  }
}

function hasAll(wanted: readonly string[], scalars: HostSlot['scalars']): boolean {
  for (const name of wanted) if (!isInUse(scalars, name)) return false;
  return true;
}

function areSame(a: NeighbourRule, b: NeighbourRule): boolean {
  return areEqual(a.opposed, b.opposed) && areEqual(a.wanted, b.wanted);
}

function areEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}
