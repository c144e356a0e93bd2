/**
 * A token bucket as one time, so that several may share it by compare-and-swap: when it is full again if nobody takes more (the
 * generic cell rate algorithm, ITU-T I.371). It holds `burst` tokens, and `perHour` come back in an hour. Who needs tokens draws a
 * slice of them and spends it without a write; what he does not spend in time is lost, never doubled.
 */

/** What an operator allows. */
export interface BucketRule {
  readonly burst: number;
  readonly perHour: number;
}

/** As it is stored; none: full. */
export interface Bucket {
  readonly fullAtMs: number;
}

/** Tokens that one process has drawn. Its times are monotonic. */
export interface Slice {
  readonly left: number;
  readonly untilMs: number;
}

const HOUR_MS = 3_600_000;
/**
 * Nobody's clock is so far from another's. A bucket that was drawn from by a clock further ahead, or under a rule that fills it more slowly,
 * counts as empty now: it must not keep everybody waiting until that clock's time.
 */
export const AHEAD_MAX_MS = 60_000;
/** So long after it was asked for tokens of a slice are taken from it. */
export const SLICE_MS = 60_000;
/** So long after that they are used: what waits for its turn or its newcomer does so meanwhile. */
export const USE_MS = 600_000;
/** A holder that dies loses this part of a full bucket at most. */
const SLICES_PER_BURST = 8;

/** How much is drawn at once, where less would do. */
export function sliceOf({ burst }: BucketRule): number {
  return Math.max(1, Math.floor(burst / SLICES_PER_BURST));
}

export interface Draw {
  /** 0: there are fewer than `least`. */
  readonly taken: number;
  /** To be written instead; null: it stays as it is. */
  readonly bucket: Bucket | null;
  /** Of nothing taken: when `least` could be there. */
  readonly nextAtMs: number;
}

/**
 * @param known undefined: nothing was ever drawn
 * @param least fewer are of no use; at most `burst`
 */
export function draw(
  rule: BucketRule,
  known: Bucket | undefined,
  { least, most }: { readonly least: number; readonly most: number },
  nowMs: number,
): Draw {
  const fromMs = Math.max(known?.fullAtMs ?? 0, nowMs);
  if (fromMs - nowMs > msOf(rule, rule.burst) + AHEAD_MAX_MS) {
    const bucket = { fullAtMs: nowMs + msOf(rule, rule.burst) };
    return { taken: 0, bucket, nextAtMs: nowMs + msOf(rule, least) };
  }
  const there = tokensIn(rule, { fullAtMs: fromMs }, nowMs);
  if (there < least) return { taken: 0, bucket: null, nextAtMs: fromMs - spareMs(rule, least) };
  const taken = Math.min(there, Math.max(least, most));
  return { taken, bucket: { fullAtMs: fromMs + msOf(rule, taken) }, nextAtMs: nowMs };
}

/** How many are there. */
export function tokensIn(rule: BucketRule, bucket: Bucket | undefined, nowMs: number): number {
  const missingMs = Math.max(0, (bucket?.fullAtMs ?? 0) - nowMs);
  return Math.max(0, Math.floor((rule.burst * HOUR_MS - missingMs * rule.perHour) / HOUR_MS));
}

/** How long so many take to come back. Rounded up: never more than the rate. */
function msOf({ perHour }: BucketRule, tokens: number): number {
  return Math.ceil((tokens * HOUR_MS) / perHour);
}

/** How far from full a bucket may be that holds so many. */
function spareMs({ burst, perHour }: BucketRule, tokens: number): number {
  return Math.floor(((burst - tokens) * HOUR_MS) / perHour);
}

/** @param nowMs monotonic */
export function leftIn(slices: readonly Slice[], nowMs: number): number {
  return slices.reduce((sum, { left, untilMs }) => (nowMs < untilMs ? sum + left : sum), 0);
}

/**
 * Spends what ends first.
 * @returns what is left, and until when what was spent is to be used; null: there is not so much
 */
export function spend(
  slices: readonly Slice[],
  amount: number,
  nowMs: number,
): { readonly slices: readonly Slice[]; readonly useUntilMs: number } | null {
  if (leftIn(slices, nowMs) < amount) return null;
  const rest: Slice[] = [];
  let open = amount;
  let useUntilMs = Number.POSITIVE_INFINITY;
  for (const slice of [...slices].sort((a, b) => a.untilMs - b.untilMs)) {
    if (nowMs >= slice.untilMs) continue;
    const spent = Math.min(open, slice.left);
    open -= spent;
    if (spent > 0) useUntilMs = Math.min(useUntilMs, slice.untilMs - SLICE_MS + USE_MS);
    if (slice.left > spent) rest.push({ ...slice, left: slice.left - spent });
  }
  return { slices: rest, useUntilMs };
}
