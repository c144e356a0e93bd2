import { suiteRun } from './suite.ts';

/**
 * What each process of `npm run mutants` runs: the suite, seed by seed, until a checker objects or the time is over. Prints
 * one line of JSON. `argv`: first seed, seeds at most, seconds at most, seeds to leave out (those at which the unchanged
 * sources fail), with commas.
 */
const [first = 1, seedsMax = 1, secondsMax = 1] = process.argv.slice(2, 5).map(Number);
const leftOut = new Set((process.argv[5] ?? '').split(',').map(Number));
const startedMs = performance.now();

async function hunt(): Promise<object> {
  let seeds = 0;
  for (let seed = first; seeds < seedsMax; seed++) {
    if ((performance.now() - startedMs) / 1000 > secondsMax) break;
    if (leftOut.has(seed)) continue;
    seeds += 1;
    const found = await objections(seed);
    if (found.length > 0) return { seed, seeds, found, seconds: seconds() };
  }
  return { seed: null, seeds, found: [], seconds: seconds() };
}

function seconds(): number {
  return Number(((performance.now() - startedMs) / 1000).toFixed(1));
}

interface Objection {
  readonly invariant: string;
  readonly detail: string;
}

/** What the checkers say; a run that breaks down says it too. */
async function objections(seed: number): Promise<readonly Objection[]> {
  try {
    const { violations } = await suiteRun(seed);
    return violations.map(({ invariant, detail }) => ({ invariant, detail }));
  } catch (error) {
    return [{ invariant: 'broke', detail: error instanceof Error ? error.message : String(error) }];
  }
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
// Whatever a world left behind ends with it.
process.exit(0);
