import { readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { Fault } from '../../sim/nemesis/fault.ts';
import { FAULT_KINDS, wordsOf } from '../../sim/nemesis/fault.ts';
import { seedOptions } from '../../sim/seeds/setting.ts';
import { shrink } from '../../sim/shrink/shrink.ts';
import { timeline } from '../../sim/shrink/timeline.ts';
import type { WorldOptions, WorldResult } from '../../sim/world/options.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { plural } from '../output/words.ts';

export interface SimReplayOptions {
  readonly shrink: boolean;
  /** A fault plan as JSON, in place of the one that the seed draws. */
  readonly faults?: string;
  /** Write the timeline there. */
  readonly out?: string;
  readonly whole: boolean;
}

/** Runs one seed again and tells what happened in it. */
export async function simReplay(context: Context, seed: number, options: SimReplayOptions): Promise<number> {
  const { terminal } = context;
  const whole = await optionsOf(context, seed, options);
  const { least, tries } = options.shrink ? await leastOf(whole) : { least: whole, tries: 0 };
  const result = await runWorld(least);
  if (tries > 0) terminal.err(`${plural(tries, 'run')} to find the least that fails\n`);
  const text = textOf(result, options.whole);
  if (options.out === undefined) terminal.out(text);
  else await writeFile(resolve(terminal.cwd, options.out), text);
  terminal.err(`${summaryOf(result)}\n`);
  return result.violations.length === 0 ? EXIT.ok : EXIT.workloadFailed;
}

/** What a failed run leaves behind: how to repeat it, its faults, and the timeline. */
export function textOf(result: WorldResult, whole = false): string {
  const faults = result.faultPlan.map(
    (fault) => `  at ${String(fault.atMs)} ms for ${String(fault.durationMs)} ms: ${wordsOf(fault)}`,
  );
  const requests = result.requests.map((request) => request.name).join(', ');
  const head = [
    `seed ${String(result.seed)}, ${plural(result.events, 'event')}, trace ${result.traceHash}`,
    `requests: ${requests}`,
    `faults:${faults.length === 0 ? ' none' : ''}`,
    ...faults,
  ];
  const { report } = result;
  return `${head.join('\n')}\n\n${report === null ? '' : timeline(result.history, report, whole)}`;
}

function summaryOf({ seed, violations, work }: WorldResult): string {
  const done = `${plural(work.started, 'start')}, ${plural(work.outcomes, 'outcome')}`;
  if (violations.length === 0) return `seed ${String(seed)}: all invariants hold (${done})`;
  const broken = [...new Set(violations.map(({ invariant }) => invariant))];
  return `seed ${String(seed)}: ${broken.join(' ')} broken (${done})`;
}

async function leastOf(options: WorldOptions): Promise<{ least: WorldOptions; tries: number }> {
  const shrunk = await shrink(options);
  return shrunk === null ? { least: options, tries: 0 } : { least: shrunk.options, tries: shrunk.tries };
}

async function optionsOf(
  { terminal }: Context,
  seed: number,
  { faults }: SimReplayOptions,
): Promise<WorldOptions> {
  const options = seedOptions(seed);
  if (faults === undefined) return options;
  const path = resolve(terminal.cwd, faults);
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(EXIT.badSpec, `cannot read ${path}`, 'name a file with a list of faults', error);
  });
  return { ...options, faultPlan: faultsIn(text, path) };
}

const faultSchema = z.strictObject({
  kind: z.enum(FAULT_KINDS),
  atMs: z.number().nonnegative(),
  durationMs: z.number().nonnegative(),
  target: z.string(),
  other: z.exactOptional(z.string()),
  amount: z.exactOptional(z.number()),
  code: z.exactOptional(z.enum(['full', 'read-only', 'io'])),
});

function faultsIn(text: string, path: string): readonly Fault[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.badSpec, `${path} is no JSON`, null, error);
  }
  const read = z.array(faultSchema).safeParse(value);
  if (read.success) return read.data;
  const issue = read.error.issues[0];
  throw new CliError(EXIT.badSpec, `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}
