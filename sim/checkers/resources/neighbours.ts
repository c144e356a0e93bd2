import type { Allocation } from '../../../src/core/cell/allocation.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** The classes that somebody is of, and those that he avoids. */
interface Said {
  readonly id: string;
  readonly of: readonly string[];
  readonly avoids: readonly string[];
}

/**
 * I74, by what claims say: what avoids a class has no claim on a host where one of that class has one. What is preempted gives its place
 * up, unless its preemption may be taken back.
 */
export function checkNeighbours(
  revision: number,
  host: string,
  live: readonly Allocation[],
  findings: Findings,
): void {
  const said = live
    .filter(({ desired, yields }) => desired !== 'evict' || yields !== undefined)
    .map(saidByClaim)
    .filter(({ of, avoids }) => of.length + avoids.length > 0);
  for (const [at, one] of said.entries())
    for (const other of said.slice(at + 1))
      if (areHarmed(one, other))
        findings.add('I74', revision, host, `${one.id} and ${other.id} avoid each other`);
}

/**
 * I74, by what jobs say: which of the allocations that run on a host the one that begins there should not meet; null: none.
 * @param living ids of the others
 */
export function harmedBeside(
  allocation: Allocation,
  living: readonly string[],
  run: RunIndex,
): string | null {
  const own = saidByJob(allocation, run);
  const isHarmed = (id: string): boolean => {
    const other = run.allocations.get(id)?.allocation;
    return other !== undefined && areHarmed(own, saidByJob(other, run));
  };
  return living.find(isHarmed) ?? null;
}

/** Written out, and not with the arithmetic of the fit rule, so that a mistake in that shows here. */
function areHarmed(a: Said, b: Said): boolean {
  return a.avoids.some((name) => b.of.includes(name)) || b.avoids.some((name) => a.of.includes(name));
}

function saidByClaim({ id, resources }: Allocation): Said {
  const names = Object.keys(resources.scalars);
  const after = (prefix: string): readonly string[] =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return { id, of: after('class.'), avoids: after('avoid.') };
}

function saidByJob(allocation: Allocation, run: RunIndex): Said {
  const { class: own, avoid = [] } = run.groupOf(allocation) ?? {};
  return { id: allocation.id, of: own === undefined ? [] : [own], avoids: avoid.map((one) => one.class) };
}
