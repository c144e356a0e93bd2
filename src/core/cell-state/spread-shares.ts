/**
 * The share of a group that belongs on each value of a spread attribute, relative to an even share, 1. Values that no
 * usable host has are left out and their percent is shared; values without a target divide the rest evenly.
 * @param targets percent by value
 * @param values of the hosts that the group may use
 * @returns values with a share above 0
 */
export function spreadShares(
  targets: Readonly<Record<string, number>>,
  values: Iterable<string>,
): ReadonlyMap<string, number> {
  const there = [...new Set(values)];
  const isNamed = (value: string): boolean => Object.hasOwn(targets, value);
  const unnamed = there.filter((value) => !isNamed(value)).length;
  const rest = Object.values(targets).reduce((left, percent) => left - percent, PERCENT);
  const percentOf = (value: string): number =>
    isNamed(value) ? targets[value]! : Math.max(0, rest) / unnamed;
  const shared = there
    .map((value) => [value, percentOf(value)] as const)
    .filter(([, percent]) => percent > 0);
  const whole = shared.reduce((sum, [, percent]) => sum + percent, 0);
  return new Map(shared.map(([value, percent]) => [value, (percent * shared.length) / whole]));
}

const PERCENT = 100;

/**
 * How far a value with `count` allocations of the group is filled: the next one belongs where this is least. Webster's
 * method, which comes as near to the shares as whole numbers can at every size. With an even share it equals `count`.
 * `docs/decisions/spread-and-distinct.md`
 */
export function filling(count: number, share: number): number {
  return (count + 0.5) / share - 0.5;
}
