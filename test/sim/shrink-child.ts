import { shrink } from '../../sim/shrink/shrink.ts';
import { suiteOptions, THEMES } from '../../sim/suite/suite.ts';
import { failureOf } from '../../sim/world/failure.ts';

// A process of its own, into whose sources a bug is planted: shrinks a run of the suite, and runs what is left of it twice.
const [theme, seed] = process.argv.slice(2);
const options = suiteOptions(THEMES.find((one) => one === theme) ?? 'any', Number(seed));
const shrunk = await shrink(options);
if (shrunk === null) throw new Error('the run does not fail');
const { faultPlan, requests } = shrunk.options;
const again = [await failureOf(shrunk.options), await failureOf(shrunk.options)];
process.stdout.write(
  JSON.stringify({ failure: shrunk.failure, tries: shrunk.tries, faultPlan, requests, again }),
);
