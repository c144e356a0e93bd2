import type { Pausable } from '../../src/core/quota/quota.ts';
import { PAUSABLE } from '../../src/core/quota/quota.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { ago, duration } from '../../src/wire/values/words.ts';

export interface PauseOptions {
  readonly reason: string;
  readonly for?: string;
}

/** Pauses new placements, or preemptions, in the whole cell; what runs goes on. */
export async function pause(context: Context, written: string, options: PauseOptions): Promise<number> {
  const what = readPausable(written, 'pause');
  const reading = options.for === undefined ? null : readDuration(options.for);
  if (reading?.ok === false) throw usageError(`--for: ${reading.text}`, 'moorage pause --help');
  const answer = await (
    await context.api()
  ).pause(what, {
    reason: options.reason,
    ...(reading === null ? {} : { forMs: reading.value }),
  });
  const text = (): string => `${what} is paused; to go on: moorage resume ${what}\n`;
  await printAnswer(context, answer, { name: what, text });
  return EXIT.ok;
}

export async function resume(context: Context, written: string): Promise<number> {
  const what = readPausable(written, 'resume');
  const answer = await (await context.api()).resume(what);
  await printAnswer(context, answer, { name: what, text: () => `${what} goes on\n` });
  return EXIT.ok;
}

/** A line for each thing that is paused. */
export function pauseLines({ pauses }: PausesAnswer, nowMs: number): readonly string[] {
  return PAUSABLE.flatMap((what) => {
    const known = pauses[what];
    if (known === undefined) return [];
    if (known === null) return [`${what} is paused`];
    const { by, reason, sinceMs, untilMs } = known;
    const left = untilMs === undefined ? '' : `, for another ${duration(untilMs - nowMs)}`;
    return [`${what} is paused by ${by} since ${ago(nowMs, sinceMs)}${left}: ${reason}`];
  });
}

function readPausable(written: string, verb: string): Pausable {
  const what = PAUSABLE.find((one) => one === written);
  if (what !== undefined) return what;
  throw usageError(
    `"${written}" cannot be paused: name ${PAUSABLE.join(' or ')}`,
    `moorage ${verb} placement`,
  );
}
