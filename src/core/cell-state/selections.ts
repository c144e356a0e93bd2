import type { CellIndex } from './cell-index.ts';
import { plainAttribute } from '../host/attributes.ts';
import type { Expression, Group } from '../cell/job.ts';
import type { Ask, GroupAsk } from '../cell/ask.ts';
import { NO_SCALARS } from '../cell/resources.ts';
import type { PoolBook } from '../quota/pool-book.ts';
import type { Selection } from './selection.ts';
import { select } from './selection.ts';

/** Selections kept; the least recently used goes first. */
const SELECTIONS_MAX = 256;
/**
 * Memory of all that are kept: a tenth of what a scheduler of 100,000 hosts may use. A group that is spread over 16,000
 * racks has a selection of 5 MB, so ten such groups alternate without rebuilding.
 */
export const SELECTIONS_BYTES_MAX = 64 * 1024 * 1024;
/** Measured: a stratum with key and lists; a class in tables and stratum; its value of an attribute. */
const STRATUM_BYTES = 320;
const CLASS_BYTES = 24;
const VALUE_BYTES = 12;
/** In `inOrder`, whether it is built or not. */
const HOST_BYTES = 4;

/** The selections of the groups that were placed last, while the classes do not change. */
export class Selections {
  readonly #index: CellIndex;
  readonly #pools: PoolBook;
  /** By use, the latest last. */
  readonly #known = new Map<string, Selection>();
  readonly #keys = new WeakMap<Group, string>();
  #latest: Selection | null = null;
  #bytes = 0;

  constructor(index: CellIndex, pools: PoolBook) {
    this.#index = index;
    this.#pools = pools;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Estimated memory of those that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  for(request: GroupAsk): Selection {
    const { group, ask } = request;
    let key = this.#keyOf(group);
    const models = ask.gpu === null ? [] : ask.gpu.models;
    if (models.length > 0) key += `\ng${models.join(',')}`;
    const sharers = this.#sharersOf(group, ask);
    if (sharers.length > 0) key += `\np${sharers.join(',')}`;
    const known = this.#known.get(key);
    if (known?.version === this.#index.classes.version) {
      this.#use(known);
      return known;
    }
    this.#index.classes.divideBy([...attributesOf(group, models.length > 0), ...sharers]);
    const made = select(key, this.#index, request, sharers);
    this.#keep(made);
    return made;
  }

  /** What divides the hosts into pools that it asks for, and into domains with neighbours that it avoids or is drawn to. */
  #sharersOf({ near = NO_NEAR }: Group, { shared, resources }: Ask): readonly string[] {
    const pools = shared === undefined ? NO_ATTRIBUTES : sharersOf(shared, this.#pools);
    const { scalars } = resources;
    const rules = scalars === NO_SCALARS ? [] : this.#index.domains.rulesFor(scalars);
    if (rules.length + near.length === 0) return pools;
    const drawn = near.flatMap(({ over }) => over ?? []).map(plainAttribute);
    return [...new Set([...pools, ...rules.map(({ attribute }) => attribute), ...drawn])].sort();
  }

  #use(known: Selection): void {
    if (known === this.#latest) return;
    this.#known.delete(known.key);
    this.#known.set(known.key, known);
    this.#latest = known;
  }

  #keep(made: Selection): void {
    // Selections of an older version are stale.
    if (this.#latest !== null && this.#latest.version !== made.version) this.#clear();
    this.#known.set(made.key, made);
    this.#latest = made;
    this.#bytes += bytesOf(made);
    for (const [key, oldest] of this.#known) {
      const isTooMuch = this.#known.size > SELECTIONS_MAX || this.#bytes > SELECTIONS_BYTES_MAX;
      if (!isTooMuch || oldest === made) return;
      this.#known.delete(key);
      this.#bytes -= bytesOf(oldest);
    }
  }

  #clear(): void {
    this.#known.clear();
    this.#bytes = 0;
  }

  #keyOf(group: Group): string {
    // Most groups have neither constraints nor preferences.
    if (isPlain(group)) return '';
    let key = this.#keys.get(group);
    if (key === undefined) this.#keys.set(group, (key = keyOf(group)));
    return key;
  }
}

function bytesOf({ strata, stratumOf, valueOf, hosts }: Selection): number {
  const classes = stratumOf.length * (CLASS_BYTES + valueOf.length * VALUE_BYTES);
  return strata.length * STRATUM_BYTES + classes + hosts * HOST_BYTES;
}

function isPlain({ constraints, affinities, spread, distinct }: Group): boolean {
  return constraints.length + affinities.length + spread.length + distinct.length === 0;
}

function keyOf(group: Group): string {
  const say = ({ attribute, operator, value }: Expression): string =>
    `${plainAttribute(attribute)} ${operator} ${value}`;
  return [
    ...group.constraints.map((expression) => `c${say(expression)}`),
    ...group.affinities.map(({ expression, weight }) => `a${String(weight)} ${say(expression)}`),
    ...group.spread.map(({ attribute, targets }) => `s${plainAttribute(attribute)}${textOf(targets)}`),
    ...group.distinct.map((attribute) => `d${plainAttribute(attribute)}`),
  ].join('\n');
}

/** Values may hold any character, so they are quoted. */
function textOf(targets: Readonly<Record<string, number>> | undefined): string {
  return targets === undefined ? '' : ` ${JSON.stringify(targets)}`;
}

function attributesOf(group: Group, models: boolean): string[] {
  const names = [
    ...group.constraints.map(({ attribute }) => attribute),
    ...group.affinities.map(({ expression }) => expression.attribute),
    ...group.spread.map(({ attribute }) => attribute),
    ...group.distinct,
    ...(models ? ['gpuModel'] : []),
  ];
  return [...new Set(names.map(plainAttribute))];
}

const NO_NEAR: NonNullable<Group['near']> = Object.freeze([]);

const NO_ATTRIBUTES: readonly string[] = Object.freeze([]);

/** The attributes that divide the hosts into pools of what is asked for. */
function sharersOf(shared: Readonly<Record<string, number>>, pools: PoolBook): readonly string[] {
  const names = new Set<string>();
  for (const name in shared) {
    const by = pools.resource(name).resource?.by ?? null;
    if (by !== null) names.add(plainAttribute(by));
  }
  return [...names].sort();
}
