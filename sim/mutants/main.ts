import type { Theme } from './suite.ts';
import { suiteRun, THEMES } from './suite.ts';

/**
 * What each process of `npm run mutants` runs: the suite, seed by seed, until a checker objects or the time is over. Prints
 * one line of JSON. `argv`: theme (`all`: in turn), first seed, seeds at most, seconds at most.
 */
const [first = 1, seedsMax = 1, secondsMax = 1] = process.argv.slice(3, 6).map(Number);
const themes = THEMES.filter((theme) => process.argv[2] === 'all' || process.argv[2] === theme);
const startedMs = performance.now();

async function hunt(): Promise<object> {
  for (let runs = 0; runs < seedsMax && seconds() < secondsMax; runs++) {
    const theme = themes[runs % themes.length] ?? 'any';
    const seed = first + Math.floor(runs / themes.length);
    const found = await objections(theme, seed);
    if (found.length > 0) return { seed, theme, seeds: runs + 1, found, seconds: seconds() };
    tried = runs + 1;
  }
  return { seed: null, seeds: tried, found: [], seconds: seconds() };
}
let tried = 0;

function seconds(): number {
  return Number(((performance.now() - startedMs) / 1000).toFixed(1));
}

interface Objection {
  readonly invariant: string;
  readonly detail: string;
}

/** What the checkers say; a run that breaks down says it too. */
async function objections(theme: Theme, seed: number): Promise<readonly Objection[]> {
  try {
    const { violations } = await suiteRun(theme, seed);
    return violations.map(({ invariant, detail }) => ({ invariant, detail }));
  } catch (error) {
    return [{ invariant: 'broke', detail: error instanceof Error ? error.message : String(error) }];
  }
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
// Whatever a world left behind ends with it.
process.exit(0);
