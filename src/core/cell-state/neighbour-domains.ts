import type { HostClasses } from './host-classes.ts';
import type { HostSlot, KnownHost } from './host-slot.ts';
import { attributeOf } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';
import { NO_SCALARS } from '../cell/resources.ts';
import type { Range } from '../cell/interference.ts';
import { classScalar, isInUse, opposedTo, rangeOf, rangesOf, rangeScalar } from '../cell/interference.ts';

/** The tables that it counts in: a `CellIndex`. */
export interface DomainSource {
  readonly classes: Pick<HostClasses, 'version'>;
  readonly size: number;
  slot(index: number): HostSlot;
}

type Scalars = Readonly<Record<string, number>>;

/** How many hosts of each value of an attribute have some scalar in use; none: no entry. */
export type ValueCounts = ReadonlyMap<string, number>;

/** The same, and the value by which each host counts. */
interface Counts {
  readonly attribute: string;
  readonly hosts: Map<string, number>;
  readonly counted: Map<HostSlot, string>;
  /** The indices of these hosts in order, at a version of the host classes; null: they have changed. */
  listed: { readonly version: number; readonly hosts: readonly number[] } | null;
}

/** A class that somebody avoids over an attribute: where it is, and where those are who avoid it so far. */
interface Pair extends Range {
  readonly of: Counts;
  readonly avoiding: Counts;
}

/** A claim does not go where the counts have somebody. */
export interface DomainRule extends Range {
  /** True: it would be avoided there. False: it avoids what is there. */
  readonly isAvoided: boolean;
  readonly counts: { readonly hosts: ValueCounts };
}

/**
 * Which values of an attribute (racks, zones) have somebody of a class, or who avoids it that far: counted as the private
 * state knows it, for classes and attributes that somebody has named. Brought up to date by whoever asks; before the first
 * who does, nothing is noted. A change costs what the host has, however much is counted.
 */
export class NeighbourDomains {
  readonly #source: DomainSource;
  /** By class. */
  readonly #pairs = new Map<string, Pair[]>();
  /** By the scalar that they count. */
  readonly #counts = new Map<string, Counts[]>();
  /** The counts that a host is in. */
  readonly #placesOf = new Map<HostSlot, readonly Counts[]>();
  readonly #dirty = new Set<HostSlot>();
  /** The last claim that came or went, and whether it counts anywhere. */
  #shifted: Scalars = NO_SCALARS;
  #isCounted = false;
  /** The last claim that was asked about, and its rules. */
  #asked: Scalars | null = null;
  #rules: readonly DomainRule[] = NO_RULES;
  /** Has anybody asked for rules or counts? Until then nothing is noted. */
  #isAsked = false;

  constructor(source: DomainSource) {
    this.#source = source;
  }

  /** Who is on the host, or what it is, may have changed. */
  mark(slot: HostSlot): void {
    if (this.#isAsked) this.#dirty.add(slot);
  }

  /** A claim with these scalars came or went. Most are of no class that is counted. */
  markShift(slot: HostSlot, scalars: Scalars): void {
    if (!this.#isAsked || scalars === NO_SCALARS) return;
    if (scalars !== this.#shifted) {
      this.#shifted = scalars;
      this.#isCounted = this.#isOfAny(scalars);
    }
    if (this.#isCounted) this.#dirty.add(slot);
  }

  /** The rules that tell where a claim with these scalars may go. */
  rulesFor(scalars: Scalars): readonly DomainRule[] {
    // A decision asks twice.
    if (scalars === this.#asked && this.#dirty.size === 0) return this.#rules;
    this.#asked = scalars;
    return (this.#rules = this.#findRules(scalars));
  }

  #findRules(scalars: Scalars): readonly DomainRule[] {
    if (opposedTo(scalars).length === 0) return NO_RULES;
    if (!this.#isAsked) this.#begin();
    const ranges = rangesOf(scalars);
    this.#catchUp();
    if (ranges.length + this.#pairs.size === 0) return NO_RULES;
    const rules = ranges.map((range): DomainRule => {
      const { class: name, attribute, of } = this.#pair(range);
      return { class: name, attribute, isAvoided: false, counts: of };
    });
    for (const [name, pairs] of this.#pairs) {
      if (!(classScalar(name) in scalars)) continue;
      for (const { attribute, avoiding } of pairs)
        if (avoiding.hosts.size > 0)
          rules.push({ class: name, attribute, isAvoided: true, counts: avoiding });
    }
    return rules.length === 0 ? NO_RULES : rules;
  }

  /** The rule that keeps the claim from the host, as things are now; null: it may go there. */
  refusing(rules: readonly DomainRule[], host: Host): DomainRule | null {
    if (rules.length === 0) return null;
    this.#catchUp();
    for (const rule of rules) {
      const value = attributeOf(host, rule.attribute);
      if (value !== undefined && rule.counts.hosts.has(value)) return rule;
    }
    return null;
  }

  /** May the claim go to hosts of that class? They must be divided by the attributes of the rules. */
  takes({ classes }: HostClasses, hostClass: number, rules: readonly DomainRule[]): boolean {
    const example = classes[hostClass]?.example;
    return example === undefined || this.refusing(rules, example) === null;
  }

  /** On how many hosts of each value of the attribute there is something of the class; asked again after each change. */
  hostsWith({ class: name, attribute }: Range): ValueCounts {
    if (!this.#isAsked) this.#begin();
    const { hosts } = this.#countsOf(classScalar(name), attribute);
    this.#catchUp();
    return hosts;
  }

  /** The hosts that have something of the class, in no order that means anything. */
  membersOf(name: string): ReadonlyMap<KnownHost, unknown> {
    return this.#countsOn(name).counted;
  }

  /** Their indices in order: dear to make after each host that joins them or leaves. */
  hostsOf(name: string): readonly number[] {
    const counts = this.#countsOn(name);
    const { version } = this.#source.classes;
    if (counts.listed?.version !== version) {
      const hosts = [...counts.counted.keys()].map(({ index }) => index).sort((a, b) => a - b);
      counts.listed = { version, hosts };
    }
    return counts.listed.hosts;
  }

  #countsOn(name: string): Counts {
    if (!this.#isAsked) this.#begin();
    const counts = this.#countsOf(classScalar(name), ON_HOST);
    this.#catchUp();
    return counts;
  }

  #isOfAny(scalars: Scalars): boolean {
    for (const name in scalars) if (this.#counts.has(name) || rangeOf(name) !== null) return true;
    return false;
  }

  #begin(): void {
    this.#isAsked = true;
    for (let index = 0; index < this.#source.size; index++) this.#dirty.add(this.#source.slot(index));
  }

  #catchUp(): void {
    for (const slot of this.#dirty) {
      for (const name in slot.scalars) {
        const range = rangeOf(name);
        if (range !== null) this.#pair(range);
      }
      this.#count(slot);
    }
    this.#dirty.clear();
  }

  #pair(range: Range): Pair {
    const { class: name, attribute } = range;
    let pairs = this.#pairs.get(name);
    if (pairs === undefined) this.#pairs.set(name, (pairs = []));
    let pair = pairs.find((one) => one.attribute === attribute);
    if (pair === undefined) {
      const of = this.#countsOf(classScalar(name), attribute);
      pair = { ...range, of, avoiding: this.#countsOf(rangeScalar(range), attribute) };
      pairs.push(pair);
    }
    return pair;
  }

  #countsOf(scalar: string, attribute: string): Counts {
    let all = this.#counts.get(scalar);
    if (all === undefined) this.#counts.set(scalar, (all = []));
    const known = all.find((one) => one.attribute === attribute);
    if (known !== undefined) return known;
    this.#shifted = NO_SCALARS;
    const made: Counts = { attribute, hosts: new Map(), counted: new Map(), listed: null };
    all.push(made);
    for (let index = 0; index < this.#source.size; index++) {
      const slot = this.#source.slot(index);
      if (isInUse(slot.scalars, scalar)) this.#count(slot);
    }
    return made;
  }

  /** Counts the host wherever it belongs, and nowhere else. */
  #count(slot: HostSlot): void {
    const places = this.#placesFor(slot);
    for (const counts of this.#placesOf.get(slot) ?? NO_COUNTS)
      if (!places.includes(counts)) set(counts, slot, undefined);
    for (const counts of places) set(counts, slot, attributeOf(slot.host!, counts.attribute));
    if (places.length === 0) this.#placesOf.delete(slot);
    else this.#placesOf.set(slot, places);
  }

  #placesFor({ host, index, scalars }: HostSlot): readonly Counts[] {
    if (host === undefined || index < 0) return NO_COUNTS;
    const places: Counts[] = [];
    for (const name in scalars)
      if (isInUse(scalars, name))
        for (const counts of this.#counts.get(name) ?? NO_COUNTS)
          if (attributeOf(host, counts.attribute) !== undefined) places.push(counts);
    return places;
  }
}

const NO_RULES: readonly DomainRule[] = Object.freeze([]);
const NO_COUNTS: readonly Counts[] = Object.freeze([]);
/** Where each host has a value of its own. */
const ON_HOST = 'id';

function set(counts: Counts, slot: HostSlot, value: string | undefined): void {
  const { hosts, counted } = counts;
  const before = counted.get(slot);
  if (before === value) return;
  counts.listed = null;
  if (before !== undefined) {
    const left = hosts.get(before)! - 1;
    if (left === 0) hosts.delete(before);
    else hosts.set(before, left);
  }
  if (value === undefined) counted.delete(slot);
  else {
    counted.set(slot, value);
    hosts.set(value, (hosts.get(value) ?? 0) + 1);
  }
}
