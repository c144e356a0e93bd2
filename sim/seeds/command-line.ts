import { parseArgs } from 'node:util';
import { errorText } from '../../src/core/errors/errors.ts';
import { THEMES } from '../suite/suite.ts';
import type { SeedSetting } from './seeds.ts';

/** What one call of `main.ts` is to run. */
export interface SeedsOrder {
  readonly setting: SeedSetting;
  readonly from: number;
  readonly to: number;
  /** Goes on after `to` until the time is over; null: until `to`. */
  readonly minutes: number | null;
  /** Ends then, whether it has come to `to` or not. */
  readonly minutesMax: number | null;
  readonly workers: number;
  readonly keepGoing: boolean;
}

const WORKERS_MAX = 64;

/** @param workers threads, when the words do not say. @returns what is wrong with the words, in one sentence, when something is */
export function readSeedsOrder(
  args: readonly string[],
  workers: number,
): SeedsOrder | { readonly wrong: string } {
  let values: ReturnType<typeof valuesOf>;
  try {
    values = valuesOf(args);
  } catch (error) {
    return { wrong: errorText(error) };
  }
  const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds);
  const [from, to] = [Number(range?.[1]), Number(range?.[2])];
  if (range === null || to < from) return { wrong: `--seeds ${values.seeds}: write them as FROM..TO` };
  const theme = THEMES.find((name) => name === values.theme);
  if (values.theme !== undefined && theme === undefined)
    return { wrong: `there is no theme ${values.theme}; there are ${THEMES.join(', ')}` };
  for (const name of ['minutes', 'minutes-max', 'every', 'workers'] as const) {
    const text = values[name];
    if (text !== undefined && !(Number(text) > 0)) return { wrong: `--${name} ${text}: more than 0` };
  }
  const numberOf = (text: string | undefined): number | null => (text === undefined ? null : Number(text));
  const everyMs = numberOf(values.every) ?? undefined;
  return {
    setting: { theme, everyMs: values.calm ? null : everyMs },
    ...{ from, to, minutes: numberOf(values.minutes), minutesMax: numberOf(values['minutes-max']) },
    workers: Math.min(WORKERS_MAX, Math.ceil(numberOf(values.workers) ?? workers)),
    keepGoing: values['keep-going'],
  };
}

function valuesOf(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string', default: '1..200' },
      minutes: { type: 'string' },
      'minutes-max': { type: 'string' },
      theme: { type: 'string' },
      every: { type: 'string' },
      calm: { type: 'boolean', default: false },
      workers: { type: 'string' },
      'keep-going': { type: 'boolean', default: false },
    },
  }).values;
}
