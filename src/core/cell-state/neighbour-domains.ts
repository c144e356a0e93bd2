import type { HostClasses } from './host-classes.ts';
import type { HostSlot } from './host-slot.ts';
import { attributeOf } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';
import type { Range } from '../cell/interference.ts';
import { classScalar, opposedTo, rangeOf, rangesOf, rangeScalar } from '../cell/interference.ts';

/** The tables that it counts in: a `CellIndex`. */
export interface DomainSource {
  readonly size: number;
  slot(index: number): HostSlot;
}

/** A class and an attribute, and how many hosts of each of its values have somebody of the class, or who avoids it over that attribute. */
interface Domains extends Range {
  readonly of: Counts;
  readonly avoiding: Counts;
}

/** Hosts by value, and the value by which each host counts. */
interface Counts {
  readonly hosts: Map<string, number>;
  readonly counted: Map<HostSlot, string>;
}

/** A claim does not go where the counts have somebody. */
export interface DomainRule extends Range {
  /** True: it would be avoided there. False: it avoids what is there. */
  readonly isAvoided: boolean;
  readonly counts: Counts;
}

/**
 * Which values of an attribute (racks, zones) have somebody of a class, or who avoids it that far: counted as the private
 * state knows it, for pairs that somebody has named. Brought up to date by whoever asks; before the first who does, nothing
 * is noted.
 */
export class NeighbourDomains {
  readonly #source: DomainSource;
  readonly #pairs = new Map<string, Domains>();
  readonly #dirty = new Set<HostSlot>();
  /** The last claim that was asked about, and its rules. */
  #asked: Readonly<Record<string, number>> | null = null;
  #rules: readonly DomainRule[] = NO_RULES;
  /** Has anybody asked for rules? Until then nothing is noted. */
  #isAsked = false;

  constructor(source: DomainSource) {
    this.#source = source;
  }

  /** Who is on the host, or what it is, may have changed. */
  mark(slot: HostSlot): void {
    if (this.#isAsked) this.#dirty.add(slot);
  }

  /** The rules that tell where a claim with these scalars may go. */
  rulesFor(scalars: Readonly<Record<string, number>>): readonly DomainRule[] {
    // A decision asks twice.
    if (scalars === this.#asked && this.#dirty.size === 0) return this.#rules;
    this.#asked = scalars;
    return (this.#rules = this.#findRules(scalars));
  }

  #findRules(scalars: Readonly<Record<string, number>>): readonly DomainRule[] {
    if (opposedTo(scalars).length === 0) return NO_RULES;
    if (!this.#isAsked) this.#begin();
    for (const range of rangesOf(scalars)) this.#pair(range);
    this.#catchUp();
    if (this.#pairs.size === 0) return NO_RULES;
    const rules: DomainRule[] = [];
    for (const pair of this.#pairs.values()) {
      const { class: name, attribute } = pair;
      if (rangeScalar(pair) in scalars)
        rules.push({ class: name, attribute, isAvoided: false, counts: pair.of });
      if (classScalar(name) in scalars)
        rules.push({ class: name, attribute, isAvoided: true, counts: pair.avoiding });
    }
    return rules;
  }

  /** The rule that keeps the claim from the host, as things are now; null: it may go there. */
  refusing(rules: readonly DomainRule[], host: Host): DomainRule | null {
    if (rules.length === 0) return null;
    this.#catchUp();
    for (const rule of rules) {
      const value = attributeOf(host, rule.attribute);
      if (value !== undefined && (rule.counts.hosts.get(value) ?? 0) > 0) return rule;
    }
    return null;
  }

  /** May the claim go to hosts of that class? They must be divided by the attributes of the rules. */
  takes({ classes }: HostClasses, hostClass: number, rules: readonly DomainRule[]): boolean {
    const example = classes[hostClass]?.example;
    return example === undefined || this.refusing(rules, example) === null;
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
      for (const pair of this.#pairs.values()) count(pair, slot);
    }
    this.#dirty.clear();
  }

  /** Begins to count the pair. */
  #pair(range: Range): void {
    const key = rangeScalar(range);
    if (this.#pairs.has(key)) return;
    const pair = { ...range, of: emptyCounts(), avoiding: emptyCounts() };
    this.#pairs.set(key, pair);
    for (let index = 0; index < this.#source.size; index++) count(pair, this.#source.slot(index));
  }
}

const NO_RULES: readonly DomainRule[] = Object.freeze([]);

function emptyCounts(): Counts {
  return { hosts: new Map(), counted: new Map() };
}

function count(pair: Domains, slot: HostSlot): void {
  const { host, index, scalars } = slot;
  const value = host === undefined || index < 0 ? undefined : attributeOf(host, pair.attribute);
  set(pair.of, slot, isInUse(scalars, classScalar(pair.class)) ? value : undefined);
  set(pair.avoiding, slot, isInUse(scalars, rangeScalar(pair)) ? value : undefined);
}

/** What no host has shows as less than nothing where it is in use. */
function isInUse(scalars: HostSlot['scalars'], name: string): boolean {
  return (scalars?.[name] ?? 0) < 0;
}

function set({ hosts, counted }: Counts, slot: HostSlot, value: string | undefined): void {
  const before = counted.get(slot);
  if (before === value) return;
  if (before !== undefined) hosts.set(before, (hosts.get(before) ?? 0) - 1);
  if (value === undefined) counted.delete(slot);
  else {
    counted.set(slot, value);
    hosts.set(value, (hosts.get(value) ?? 0) + 1);
  }
}
