import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { MUTANTS } from '../../sim/mutants/mutants.ts';
import { PROJECT_ROOT } from '../support/cli.ts';

// A process of its own, into whose sources a bug is planted: shrinks a run of the suite, and runs what is left of it twice.
const [name, theme, seed] = process.argv.slice(2);
const mutant = MUTANTS.find((one) => one.name === name);
if (mutant === undefined) throw new Error(`there is no mutant ${String(name)}`);
const { find, replace } = mutant;
const url = new URL(mutant.file, pathToFileURL(`${PROJECT_ROOT}/`)).href;
register('../support/planted-loader.mjs', import.meta.url, { data: { url, find, replace } });

const { shrink } = await import('../../sim/shrink/shrink.ts');
const { suiteOptions, THEMES } = await import('../../sim/suite/suite.ts');
const { failureOf } = await import('../../sim/world/failure.ts');
const options = suiteOptions(THEMES.find((one) => one === theme) ?? 'any', Number(seed));
const shrunk = await shrink(options);
if (shrunk === null) throw new Error('the run does not fail');
const { faultPlan, requests } = shrunk.options;
const again = [await failureOf(shrunk.options), await failureOf(shrunk.options)];
process.stdout.write(
  JSON.stringify({ failure: shrunk.failure, tries: shrunk.tries, faultPlan, requests, again }),
);
