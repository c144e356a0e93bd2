import { parseArgs } from 'node:util';
import { errorText } from '../../src/core/errors/errors.ts';
import type { Theme } from '../suite/suite.ts';
import { suiteRun, THEMES } from '../suite/suite.ts';

/**
 * What each process of `npm run mutants` runs: runs of the suite, until one of the invariants that are wanted is broken in one (without
 * any: until a run fails) or the time is over. Prints one line of JSON. `--runs` names exactly these (`lost:215,any:3`), else
 * they are those of `--theme` (`all`: in turn) from seed `--first` on, and before them that of seed `--known`.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    theme: { type: 'string', default: 'all' },
    known: { type: 'string' },
    first: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    wanted: { type: 'string', default: '' },
  },
});
const wanted = values.wanted.split(',').filter((invariant) => invariant !== '');

interface Objection {
  readonly invariant: string;
  readonly detail: string;
}

interface Run {
  readonly theme: Theme;
  readonly seed: number;
}

function* runs(): Generator<Run> {
  if (values.runs !== undefined) {
    for (const run of values.runs.split(',')) {
      const [name, seed] = run.split(':');
      for (const theme of THEMES.filter((one) => one === name)) yield { theme, seed: Number(seed) };
    }
    return;
  }
  const themes = THEMES.filter((theme) => values.theme === 'all' || values.theme === theme);
  if (values.known !== undefined) for (const theme of themes) yield { theme, seed: Number(values.known) };
  for (let n = 0; n < Number(values.seeds); n++) {
    const theme = themes[n % themes.length];
    if (theme === undefined) return;
    yield { theme, seed: Number(values.first) + Math.floor(n / themes.length) };
  }
}

async function hunt(): Promise<object> {
  let tried = 0;
  const others = new Set<string>();
  for (const { theme, seed } of runs()) {
    if (seconds() >= Number(values.seconds)) break;
    tried += 1;
    const objections = await objectionsIn({ theme, seed });
    const found = objections.find(({ invariant }) => wanted.length === 0 || wanted.includes(invariant));
    if (found !== undefined)
      return { found: { theme, seed, ...found }, seeds: tried, seconds: seconds(), others: [...others] };
    for (const { invariant } of objections) others.add(invariant);
  }
  return { found: null, seeds: tried, seconds: seconds(), others: [...others] };
}

/** Of the processor, so that a busy machine tries as many seeds as a quiet one. */
function seconds(): number {
  const { user, system } = process.cpuUsage();
  return Number(((user + system) / 1_000_000).toFixed(1));
}

/** What the checkers found; a run that threw, or in which too little happened, is an objection, too. */
async function objectionsIn({ theme, seed }: Run): Promise<readonly Objection[]> {
  try {
    const { violations, report } = await suiteRun(theme, seed);
    const objections = violations.map(({ invariant, detail }) => ({ invariant, detail }));
    const tooLittle = report?.tooLittle ?? [];
    return tooLittle.length === 0
      ? objections
      : [...objections, { invariant: 'too-little', detail: tooLittle.join(', ') }];
  } catch (error) {
    return [{ invariant: 'threw', detail: errorText(error) }];
  }
}

process.stdout.write(`${JSON.stringify(await hunt())}\n`);
// Whatever a world left behind ends with it.
process.exit(0);
