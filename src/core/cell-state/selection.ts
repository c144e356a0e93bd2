import type { CellIndex } from './cell-index.ts';
import type { GroupAsk } from '../cell/ask.ts';
import { attributeOf, listOf, meets, plainAttribute, hasDriver } from '../host/attributes.ts';
import { modelFits } from '../fit/gpu-choice.ts';
import type { HostClass } from './host-classes.ts';
import type { Affinity, Expression, Group } from '../cell/job.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import { spreadShares } from './spread-shares.ts';

/** Hosts that a group prefers equally: equal affinity, equal values of its spread attributes. */
export interface Stratum {
  /** Names the stratum's tree: by its classes where they are few, so that selections share it. */
  readonly key: string;
  readonly classes: readonly number[];
  readonly hosts: number;
  /** The hosts, where they are few enough to try one by one; else null. */
  readonly list: readonly number[] | null;
}

/** A stratum of at most so many hosts is searched host by host. */
const LIST_MAX = 64;

const CLASSES_NAMED_MAX = 16;

/**
 * More strata than this are merged into one, which is sampled: scoring each for the first place of a decision costs some
 * 60 ns, so this many take a millisecond. A cell of 100,000 hosts with seven in a rack has as many.
 */
export const STRATA_MAX = 16_384;

/**
 * What a group's constraints and preferences say about every class of hosts: computed once for all groups that say the
 * same, and again when the classes change. Independent of load.
 */
export interface Selection {
  readonly key: string;
  readonly version: number;
  /** Stratum by class; −1: refused. */
  readonly stratumOf: Int32Array;
  readonly strata: readonly Stratum[];
  /** How many hosts all strata have together. */
  readonly hosts: number;
  /** The indices of these hosts in order, built on first use; null: all hosts. */
  readonly inOrder: () => Int32Array | null;
  /** Sum of the affinities' weights by class, in units of the load score's range. */
  readonly affinityOf: Float64Array;
  /** The attributes of `distinct`, `spread`, the requested shared resources, and classes that are avoided or wanted near, without `id`. */
  readonly attributes: readonly string[];
  /** For each attribute: the number of the class's value; −1: not set. */
  readonly valueOf: readonly Int32Array[];
  /** The values themselves, by their numbers. */
  readonly valueNames: readonly (readonly string[])[];
  /** For each spread of the group: the shares of its values; null: even. */
  readonly shares: readonly (ReadonlyMap<string, number> | null)[];
  /** Constraints and affinities on `id`: tested for each host, since hosts of a class differ in it. */
  readonly hostConstraints: readonly Expression[];
  readonly hostAffinities: readonly Affinity[];
  /** Hosts that a positive affinity names by id: no sample may leave them out. */
  readonly hostsPreferred: readonly string[];
  /** The only hosts that constraints on `id` allow; null: no such constraint. */
  readonly hostsNamed: readonly string[] | null;
  /** There are too many strata and all are merged: the hosts differ in preference. */
  readonly mixed: boolean;
  /** Every host may be used, and all are preferred equally. */
  readonly all: boolean;
}

const NO_VALUES = { of: new Int32Array(0), names: [] as readonly string[] };

const onId = ({ attribute }: { readonly attribute: string }): boolean => plainAttribute(attribute) === 'id';

/**
 * The selection of a group. The classes must be divided by all attributes that it names.
 * @param sharers the attributes that divide the hosts into pools of the requested shared resources, and into domains with neighbours
 */
export function select(
  key: string,
  index: CellIndex,
  request: GroupAsk,
  sharers: readonly string[],
): Selection {
  const { group } = request;
  const { classes, version } = index.classes;
  const counted = [...group.distinct, ...group.spread.map(({ attribute }) => attribute)].map(plainAttribute);
  const attributes = [...new Set([...counted, ...sharers])].filter((name) => name !== 'id');
  const values = attributes.map((name) => numberValues(classes, name));
  const affinityOf = Float64Array.from(classes, (each) => affinity(each, group));
  const stratumOf = new Int32Array(classes.length).fill(-1);
  // Strata do not cross pools, so that the hosts of an exhausted pool are skipped at once.
  const over = [...group.spread.map(({ attribute }) => plainAttribute(attribute)), ...sharers];
  const dividedBy = over.map((name) => attributes.indexOf(name));
  const found = new Map<string, number[]>();
  for (const [number, each] of classes.entries()) {
    if (each.hosts.length === 0 || !serves(each, request)) continue;
    const valueNumbers = dividedBy.map((at) => values[at]?.of[number] ?? 0);
    const stratum = `${String(affinityOf[number] ?? 0)} ${valueNumbers.join(' ')}`;
    const members = found.get(stratum);
    if (members === undefined) found.set(stratum, [number]);
    else members.push(number);
  }
  const mixed = found.size > STRATA_MAX;
  const parts = mixed ? [[...found.values()].flat()] : [...found.values()];
  const strata = parts.map((members) => stratumOfClasses(key, classes, members));
  for (const [number, stratum] of strata.entries())
    for (const each of stratum.classes) stratumOf[each] = number;
  const served = [...stratumOf.keys()].filter((number) => stratumOf[number]! >= 0);
  const shares = group.spread.map(({ attribute, targets }) => {
    const { of, names } = values[attributes.indexOf(plainAttribute(attribute))] ?? NO_VALUES;
    return targets === undefined
      ? null
      : spreadShares(
          targets,
          served.flatMap((number) => names[of[number] ?? -1] ?? []),
        );
  });
  const hostConstraints = group.constraints.filter(onId);
  const hostAffinities = group.affinities.filter(({ expression }) => onId(expression));
  const hosts = strata.reduce((sum, stratum) => sum + stratum.hosts, 0);
  let inOrder: Int32Array | null | undefined = hosts === index.size ? null : undefined;
  return {
    key,
    version,
    stratumOf,
    strata,
    hosts,
    inOrder: () => (inOrder === undefined ? (inOrder = hostsInOrder(classes, strata)) : inOrder),
    affinityOf,
    attributes,
    valueOf: values.map(({ of }) => of),
    valueNames: values.map(({ names }) => names),
    shares,
    hostConstraints,
    hostAffinities,
    hostsPreferred: hostAffinities.flatMap(({ expression, weight }) => (weight > 0 ? idsOf(expression) : [])),
    hostsNamed: namedHosts(hostConstraints),
    mixed,
    all: hostConstraints.length === 0 && strata.length === 1 && strata[0]?.hosts === index.size,
  };
}

function serves({ example }: HostClass, { group, ask }: GroupAsk): boolean {
  const { gpu } = ask;
  if (!hasDriver(example)) return false;
  // A host without devices shows no free GPU amounts; only the models need a test.
  if (gpu !== null && gpu.models.length > 0 && !example.gpuModels.some((model) => modelFits(gpu, model)))
    return false;
  return group.constraints.every((expression) => onId(expression) || meets(example, expression));
}

function affinity({ example }: HostClass, group: Group): number {
  let sum = 0;
  for (const { expression, weight } of group.affinities) {
    if (!onId(expression) && meets(example, expression)) sum += weight / WEIGHT_FULL;
  }
  return sum;
}

function numberValues(classes: readonly HostClass[], name: string): { of: Int32Array; names: string[] } {
  const numbers = new Map<string, number>();
  const of = Int32Array.from(classes, ({ example, hosts }) => {
    const value = hosts.length === 0 ? undefined : attributeOf(example, name);
    if (value === undefined) return -1;
    const number = numbers.get(value) ?? numbers.size;
    numbers.set(value, number);
    return number;
  });
  return { of, names: [...numbers.keys()] };
}

function stratumOfClasses(
  selection: string,
  classes: readonly HostClass[],
  members: readonly number[],
): Stratum {
  const few = members.length <= CLASSES_NAMED_MAX;
  // The first class identifies a stratum within the selection.
  const key = few ? members.join() : `${selection}\n#${String(members[0] ?? -1)}`;
  let hosts = 0;
  for (const number of members) hosts += classes[number]?.hosts.length ?? 0;
  // In order, as in a tree: what is a scheduler's part of them is the same for all.
  const list =
    hosts <= LIST_MAX
      ? members.flatMap((number) => classes[number]?.hosts ?? []).sort((a, b) => a - b)
      : null;
  return { key, classes: members, hosts, list };
}

function hostsInOrder(classes: readonly HostClass[], strata: readonly Stratum[]): Int32Array {
  const members = strata.flatMap((stratum) => stratum.classes);
  return Int32Array.from(members.flatMap((number) => classes[number]?.hosts ?? [])).sort();
}

/** The hosts that `id == x` and `id in x,y` allow; other operators on `id` name no hosts. */
function namedHosts(constraints: readonly Expression[]): readonly string[] | null {
  let named: readonly string[] | null = null;
  for (const constraint of constraints) {
    if (!names(constraint)) continue;
    const these = idsOf(constraint);
    named = named === null ? [...new Set(these)] : named.filter((id) => these.includes(id));
  }
  return named;
}

function names({ operator }: Expression): boolean {
  return operator === '==' || operator === 'in';
}

function idsOf(expression: Expression): readonly string[] {
  if (!names(expression)) return [];
  return expression.operator === 'in' ? listOf(expression.value) : [expression.value];
}
