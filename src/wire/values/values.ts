/**
 * The kinds of value that people write, as zod shapes with messages for people: names, texts, amounts, durations, maps.
 *
 * `units.ts` reads and prints amounts with units, `bounds.ts` has the largest values, `safe-string.ts` refuses unsafe text,
 * `suggest.ts` finds what was meant by a misspelt word, `words.ts` makes the short texts in cells of tables: durations, sizes,
 * shares, exit codes.
 */
import { z } from 'zod';
import { ID_PATTERN } from '../../core/cell/ids.ts';
import { unsafeText } from './safe-string.ts';
import type { Reading } from './units.ts';
import { readDuration } from './units.ts';

type Ctx = z.core.$RefinementCtx;

/** @param column how many characters into the written text the fault begins */
export function refuse(ctx: Ctx, message: string, column = 0): typeof z.NEVER {
  ctx.addIssue({ code: 'custom', message, params: { column } });
  return z.NEVER;
}

export function amount(read: (text: string) => Reading, what: string) {
  return z.union([z.string(), z.number()], { error: `expected ${what}` }).transform((written, ctx) => {
    const reading = read(String(written));
    return reading.ok ? reading.value : refuse(ctx, reading.text);
  });
}

export function duration(least: '0' | 'more') {
  return amount(readDuration, 'a duration such as "15s" or "1h30m"').refine((ms) => least === '0' || ms > 0, {
    error: 'must be more than 0',
  });
}

export function text(bytesMax: number, what: string) {
  return z.string().superRefine((value, ctx) => {
    const why = unsafeText(value, bytesMax);
    if (why !== null) refuse(ctx, `${what} ${why}`);
  });
}

const NAME_RULE = 'use lower-case letters, digits and dashes, at most 63, not starting or ending with a dash';
/** Names of jobs and namespaces, and the keys of maps: groups, tasks, ports. */
export const name = z.string().regex(ID_PATTERN, { error: NAME_RULE });

/** An optional field, with what editors and `moorage explain` show of it. */
export function optional<T extends z.ZodType>(field: T, description: string, ...examples: unknown[]) {
  return field.optional().meta({ description, ...(examples.length === 0 ? {} : { examples }) });
}

/** A map with at most so many entries. */
export function mapOf<T extends z.ZodType>(keyRule: z.ZodType<string, string>, value: T, entriesMax: number) {
  return z.record(keyRule, value).superRefine((map, ctx) => {
    const count = Object.keys(map).length;
    if (count > entriesMax) refuse(ctx, `at most ${String(entriesMax)} entries, found ${String(count)}`);
  });
}

export const whole = (least: number, most: number) => z.int().min(least).max(most);

/** YAML reads `8080` and `true` as what they look like; in these places they are text. */
export const written = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected text' })
  .transform(String);
