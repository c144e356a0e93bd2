/**
 * `moorage sim replay` and `moorage sim seeds`: the production roles in the simulated world, checked against the invariants.
 *
 * - `run-seeds.ts` runs a range of seeds on all cores, counts what failed and writes what each failed run leaves.
 * - `replay-seed.ts` runs one seed again, shrinks it if asked to, and prints its timeline.
 */
import type { Command } from 'commander';
import { Option } from 'commander';
import type { GlobalOptions } from '../../command/context.ts';
import type { ProgramInput } from '../../command/command.ts';
import { verb, wholeNumber } from '../../command/command.ts';
import type { SimReplayOptions } from './replay-seed.ts';
import type { SimSeedsOptions } from './run-seeds.ts';

const SEED_MAX = 2 ** 48;
const EVERY_MAX_MS = 3_600_000;
const THEME = [
  '--theme <name>',
  'a kind of run of the suite (any, crowd, late, lossy, crash ...) in place of the small cell',
] as const;
const MINUTES_MAX = 7 * 24 * 60;

export function addSeedVerbs(sim: Command, run: ProgramInput['run']): void {
  verb(sim, 'replay', 'run one seed again, and tell what happened in it')
    .argument('<seed>', 'of the run', wholeNumber(0, SEED_MAX))
    .option('--shrink', 'leave out the faults and requests that are not needed to fail', false)
    .addOption(new Option(...THEME).conflicts(['every', 'calm']))
    .option('--every <ms>', 'virtual time between two faults of the small cell', wholeNumber(1, EVERY_MAX_MS))
    .addOption(new Option('--calm', 'the small cell without faults').conflicts('every'))
    .option('--faults <file>', 'these faults (JSON) in place of those that the seed draws')
    .option('--out <file>', 'write the timeline there')
    .option('--whole', 'the whole timeline, not only what is about the violations', false)
    .action((seed: number, options: SimReplayOptions & GlobalOptions) =>
      run(options, async (context) => (await import('./replay-seed.ts')).simReplay(context, seed, options)),
    );
  verb(sim, 'seeds <from..to>', 'run many seeds, and check the invariants in each')
    .option(...THEME)
    .option('--minutes <m>', 'stop after this time', wholeNumber(1, MINUTES_MAX))
    .option('--out <folder>', 'leave seed, shrunk faults and timeline of failed runs there')
    .action((range: string, options: SimSeedsOptions & GlobalOptions) =>
      run(options, async (context) => (await import('./run-seeds.ts')).simSeeds(context, range, options)),
    );
}
