/**
 * What part of a group belongs on each value of an attribute that it spreads over, against the part of each if all had the
 * same: 1 is an even part. Values that no host which may serve has are left out, and the others share among them.
 * @param targets percent by value
 * @param values those that hosts have which may serve
 * @returns only values with a part of their own
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
 * How far a value is filled that has so many allocations of the group: the next one belongs where this is least. By the method of Webster,
 * which gives each value its part as nearly as whole numbers can, whatever the group's size; an even part counts as
 * many as there are.
 */
export function filling(count: number, share: number): number {
  return (count + 0.5) / share - 0.5;
}
