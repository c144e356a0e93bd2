import type { Pausable, PauseScope } from '../../src/core/quota/pauses.ts';
import { goesOnText, isPausedText, PAUSABLE, whereOf } from '../../src/core/quota/pauses.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { ago, duration } from '../../src/wire/values/words.ts';

export interface ScopeOptions {
  /** Written with this command: that of a context is no scope, but the namespace of `job`. */
  readonly namespace?: string;
  readonly job?: string;
  readonly pool?: string;
  readonly host?: string;
}

export interface PauseOptions extends ScopeOptions {
  readonly reason: string;
  readonly for?: string;
}

/** Pauses something in the whole cell, or in a scope of it; what runs goes on. */
export async function pause(context: Context, written: string, options: PauseOptions): Promise<number> {
  const what = readPausable(written, 'pause');
  const scope = readScope(context, options, 'pause');
  const reading = options.for === undefined ? null : readDuration(options.for);
  if (reading?.ok === false) throw usageError(`--for: ${reading.text}`, 'moorage pause --help');
  const answer = await (
    await context.api()
  ).pause(what, {
    ...scope,
    reason: options.reason,
    ...(reading === null ? {} : { forMs: reading.value }),
  });
  const text = (): string =>
    `${what}${whereOf(scope)} ${isPausedText(what)}; to go on: moorage resume ${what}${flagsOf(scope)}\n`;
  await printAnswer(context, answer, { name: what, text });
  return EXIT.ok;
}

export async function resume(context: Context, written: string, options: ScopeOptions): Promise<number> {
  const what = readPausable(written, 'resume');
  const scope = readScope(context, options, 'resume');
  const answer = await (await context.api()).resume(what, scope);
  await printAnswer(context, answer, {
    name: what,
    text: () => `${what}${whereOf(scope)} ${goesOnText(what)}\n`,
  });
  return EXIT.ok;
}

/** A line for each thing that is paused. */
export function pauseLines({ pauses }: PausesAnswer, nowMs: number): readonly string[] {
  return pauses.map((pause) => {
    const { what, by, reason, sinceMs, untilMs } = pause;
    const left = untilMs === undefined ? '' : `, for another ${duration(Math.max(0, untilMs - nowMs))}`;
    return `${what}${whereOf(pause)} ${isPausedText(what)} by ${by} since ${ago(nowMs, sinceMs)}${left}: ${reason}`;
  });
}

function readScope(context: Context, { namespace, job, pool, host }: ScopeOptions, verb: string): PauseScope {
  const named = [namespace ?? job, pool, host].filter((one) => one !== undefined).length;
  if (named > 1) throw usageError('name a namespace, a job, a pool or a host', `moorage ${verb} --help`);
  if (pool !== undefined) return { pool };
  if (host !== undefined) return { host };
  if (job !== undefined) return { namespace: context.namespace, job };
  return namespace === undefined ? {} : { namespace };
}

function flagsOf({ namespace, job, pool, host }: PauseScope): string {
  const flags = { namespace, job, pool, host };
  return Object.entries(flags)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${value}`))
    .join('');
}

function readPausable(written: string, verb: string): Pausable {
  const what = PAUSABLE.find((one) => one === written);
  if (what !== undefined) return what;
  throw usageError(
    `"${written}" cannot be paused: name ${PAUSABLE.slice(0, -1).join(', ')} or ${PAUSABLE.at(-1) ?? ''}`,
    `moorage ${verb} placement`,
  );
}
