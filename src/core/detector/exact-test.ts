/**
 * Fisher's exact test, one-sided: how likely the first group has so many bad ones or more by chance, if both are bad equally often.
 * R. A. Fisher, "On the interpretation of chi-squared from contingency tables" (1922).
 *
 * @returns a probability; 1 when one of the groups is empty
 */
export function exactTest(bad: number, well: number, otherBad: number, otherWell: number): number {
  const [ours, others, allBad] = [bad + well, otherBad + otherWell, bad + otherBad];
  if (ours === 0 || others === 0 || allBad === 0) return 1;
  const whole = logChoose(ours + others, allBad);
  let chance = 0;
  for (let n = bad; n <= Math.min(ours, allBad); n++)
    chance += Math.exp(logChoose(ours, n) + logChoose(others, allBad - n) - whole);
  return Math.min(1, chance);
}

/** Of the number of ways to choose; minus infinity: there is none. */
function logChoose(of: number, some: number): number {
  if (some < 0 || some > of) return -Infinity;
  return logFactorial(of) - logFactorial(some) - logFactorial(of - some);
}

const EXACT_MAX = 32;
const EXACT: number[] = [0];
for (let n = 1; n <= EXACT_MAX; n++) EXACT.push((EXACT[n - 1] ?? 0) + Math.log(n));

/** Stirling's series from 33 on: exact to twelve digits there. */
function logFactorial(n: number): number {
  if (n <= EXACT_MAX) return EXACT[n] ?? 0;
  return n * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3);
}
