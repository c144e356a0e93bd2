import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { Theme } from '../../../sim/suite/suite.ts';
import { THEMES } from '../../../sim/suite/suite.ts';
import type { Fault } from '../../../sim/nemesis/fault.ts';
import { FAULT_CODES, FAULT_KINDS, wordsOf } from '../../../sim/nemesis/fault.ts';
import type { SeedSetting } from '../../../sim/seeds/seeds.ts';
import { seedOptions } from '../../../sim/seeds/seeds.ts';
import { shrink } from '../../../sim/shrink/shrink.ts';
import { timeline } from '../../../sim/shrink/timeline.ts';
import { failureIn } from '../../../sim/world/failure.ts';
import type { WorldOptions, WorldResult } from '../../../sim/world/options.ts';
import { planOf } from '../../../sim/world/plan.ts';
import { runWorld } from '../../../sim/world/run-world.ts';
import { faultsOf, pathText, unknownOf } from '../../../src/wire/job-file/problems.ts';
import type { Context } from '../../command/context.ts';
import { CliError, EXIT, usageError } from '../../command/exit.ts';
import { fileFault } from '../../../src/adapters/disk/file-fault.ts';
import { plural } from '../../../src/wire/values/words.ts';
import { mustBeWritable, writeText } from '../../command/write-text.ts';

const FAULTS_HINT = 'a list of faults as moorage sim seeds --out leaves it for a failed run';
const OUT_HINT = '--out with a file in a folder that is there';

export interface SimReplayOptions {
  readonly shrink: boolean;
  readonly theme?: string;
  readonly every?: number;
  readonly calm?: boolean;
  readonly faults?: string;
  readonly out?: string;
  readonly whole: boolean;
}

/** Runs one seed again and prints its timeline. */
export async function simReplay(context: Context, seed: number, options: SimReplayOptions): Promise<number> {
  const { terminal } = context;
  const out = options.out === undefined ? null : resolve(terminal.cwd, options.out);
  if (out !== null) await mustBeWritable(out, OUT_HINT);
  const whole = await optionsOf(context, seed, options);
  const { least, tries } = options.shrink ? await leastOf(whole) : { least: whole, tries: 0 };
  const { text, summary, failed } = await replayOf(least, options.whole);
  if (tries > 0) terminal.err(`${plural(tries, 'run')} to find the least that fails\n`);
  if (out === null) terminal.out(text);
  else await writeText(out, text, OUT_HINT);
  terminal.err(`seed ${String(seed)}: ${summary}\n`);
  return failed ? EXIT.workloadFailed : EXIT.ok;
}

export interface Replay {
  /** What a run leaves behind: how to repeat it, its faults, and the timeline. */
  readonly text: string;
  /** How it ended, in a line. */
  readonly summary: string;
  readonly failed: boolean;
}

/** Runs it. What a role throws ends a run as well, without a timeline. */
export async function replayOf(options: WorldOptions, whole = false): Promise<Replay> {
  try {
    const result = await runWorld(options);
    const { history, report } = result;
    const head = headOf(options, `, ${plural(result.events, 'event')}, trace ${result.traceHash}`);
    const text = `${head}\n${report === null ? '' : timeline(history, report, whole)}`;
    return { text, ...resultOf(result) };
  } catch (error) {
    const thrown = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const summary = `threw ${thrown.split('\n', 1)[0] ?? ''}`;
    return { text: `${headOf(options, '')}\n${thrown}\n`, summary, failed: true };
  }
}

function headOf(options: WorldOptions, run: string): string {
  const plan = planOf(options);
  const faults = plan.faults.map(
    (fault) => `  at ${String(fault.atMs)} ms for ${String(fault.durationMs)} ms: ${wordsOf(fault)}`,
  );
  const lines = [
    `seed ${String(options.seed)}${run}`,
    `requests: ${plan.requests.map((request) => request.name).join(', ')}`,
    `faults:${faults.length === 0 ? ' none' : ''}`,
    ...faults,
  ];
  return `${lines.join('\n')}\n`;
}

function resultOf({ violations, report, work }: WorldResult): Omit<Replay, 'text'> {
  const done = `(${plural(work.started, 'start')}, ${plural(work.outcomes, 'outcome')})`;
  const failure = failureIn({ violations, thrown: null, tooLittle: report?.tooLittle ?? [] });
  if (failure === null) return { summary: `all invariants hold ${done}`, failed: false };
  if (failure.invariant === 'too-little')
    return { summary: `too little happened: ${failure.text} ${done}`, failed: true };
  const broken = [...new Set(violations.map(({ invariant }) => invariant))];
  return { summary: `${broken.join(' ')} broken ${done}`, failed: true };
}

async function leastOf(options: WorldOptions): Promise<{ least: WorldOptions; tries: number }> {
  const shrunk = await shrink(options);
  return shrunk === null ? { least: options, tries: 0 } : { least: shrunk.options, tries: shrunk.tries };
}

async function optionsOf(
  { terminal }: Context,
  seed: number,
  { faults, ...flags }: SimReplayOptions,
): Promise<WorldOptions> {
  const options = seedOptions(seed, settingOf(flags));
  if (faults === undefined) return options;
  const path = resolve(terminal.cwd, faults);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(EXIT.badSpec, `cannot read ${path}: ${fileFault(error)}`, FAULTS_HINT, error);
  });
  return { ...options, faultPlan: faultsIn(text, path) };
}

/** @throws CliError when there is no such theme */
function settingOf({ theme, every, calm }: Omit<SimReplayOptions, 'faults'>): SeedSetting {
  const ofSmallCell = { everyMs: calm === true ? null : every };
  return theme === undefined ? ofSmallCell : { theme: themeOf(theme) };
}

export function themeOf(name: string): Theme {
  const theme = THEMES.find((one) => one === name);
  if (theme === undefined) throw usageError(`there is no theme ${name}`, `the themes: ${THEMES.join(' ')}`);
  return theme;
}

const faultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS),
  atMs: z.number().nonnegative(),
  durationMs: z.number().nonnegative(),
  target: z.string(),
  other: z.exactOptional(z.string()),
  amount: z.exactOptional(z.number()),
  code: z.exactOptional(z.enum(FAULT_CODES)),
});

function faultsIn(text: string, path: string): readonly Fault[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.badSpec, `${path} is no JSON`, FAULTS_HINT, error);
  }
  const read = z.array(faultSchema).safeParse(value);
  if (read.success) return read.data;
  const problems = faultsOf(read.error.issues, value, (key) =>
    unknownOf(key, Object.keys(faultSchema.shape)),
  );
  const lines = problems.map((one) => `${path}: error: ${pathText(one.path)}: ${one.text}`);
  throw new CliError(EXIT.badSpec, lines.join('\n'), FAULTS_HINT);
}
