import type { BudgetAmount, BudgetBucket } from '../../core/quota/budget-buckets.ts';
import { ruleOf } from '../../core/quota/budget-buckets.ts';
import type { BudgetKind, BudgetPolicy } from '../../core/quota/budgets.ts';
import { NO_BUDGETS } from '../../core/quota/budgets.ts';
import { drawTogether, spendTogether } from '../../core/quota/joint-tokens.ts';
import type { BucketRule, Slice } from '../../core/quota/token-bucket.ts';
import { leftIn, SLICE_MS } from '../../core/quota/token-bucket.ts';
import { errorText } from '../../core/errors/errors.ts';
import { bucketCodec } from '../../wire/budgets/budget-records.ts';
import type { RolePorts } from '../runtime.ts';
import { KeyedMutex } from '../wait/keyed-mutex.ts';
import { changeRecords } from './change-record.ts';
import type { TableRow } from './records.ts';

/** Between two draws of the same bucket: after a fault, and where others are faster. */
const AGAIN_MS = 500;
/** An empty bucket is looked at again so soon: an operator may have allowed more. */
const LOOK_MAX_MS = 10_000;

/** The record of what an operator allows, if there is one. */
export interface PolicySource {
  get(name: ''): Pick<TableRow<BudgetPolicy>, 'value' | 'modRevision'> | undefined;
  readonly ready?: Promise<unknown>;
  close?(): void;
}

/** A bucket had fewer than `least`, and may have as many from then on (monotonic). */
interface Lack {
  readonly least: number;
  readonly untilMs: number;
}

/** The slices that one process has drawn of the cell's buckets, by bucket. Where several are needed it takes of all or of none. */
export class BudgetTokens {
  readonly #ports: Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log'>;
  readonly #policy: PolicySource;
  readonly #slices = new Map<string, readonly Slice[]>();
  /** As the last draws found them. */
  readonly #lacks = new Map<string, Lack>();
  /** By kind: who draws finds what the one before drew, or did not find. */
  readonly #drawing = new KeyedMutex();

  constructor(ports: Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log'>, policy: PolicySource) {
    this.#ports = ports;
    this.#policy = policy;
  }

  get policy(): BudgetPolicy {
    return this.#policy.get('')?.value ?? NO_BUDGETS;
  }

  ruleOf(bucket: BudgetBucket): BucketRule | null {
    return ruleOf(this.policy, bucket);
  }

  leftOf({ name }: BudgetBucket): number {
    return leftIn(this.#slices.get(name) ?? [], this.#nowMs());
  }

  /** @returns until when what was spent is to be used; null: nothing was spent, for there is not so much of each */
  spend(amounts: readonly BudgetAmount[]): number | null {
    const wanted = amounts.map(({ bucket: { name }, tokens }) => ({ name, tokens }));
    const spent = spendTogether(this.#slices, wanted, this.#nowMs());
    if (spent === null) return null;
    for (const [name, slices] of spent.left) this.#slices.set(name, slices);
    return spent.useUntilMs;
  }

  /** Those that had too few when they were last looked at; all of them before the first look. */
  lacking(amounts: readonly BudgetAmount[]): readonly BudgetBucket[] {
    const lacking = amounts.filter((one) => {
      const lack = this.#lacks.get(one.bucket.name);
      return lack !== undefined && lack.least <= one.tokens;
    });
    return (lacking.length === 0 ? amounts : lacking).map(({ bucket }) => bucket);
  }

  /** Draws what is missing. @returns in how many milliseconds to look again; 0: all are here */
  async draw(kind: BudgetKind, amounts: readonly BudgetAmount[]): Promise<number> {
    return await this.#drawing.runExclusive(kind, () => this.#drawMissing(amounts));
  }

  /** Nobody waits for it any more. The cell's own bucket is always told apart, and kept. */
  forget({ name, domain }: BudgetBucket): void {
    if (domain !== null) this.#lacks.delete(name);
  }

  #nowMs(): number {
    return this.#ports.clock.monotonicMs();
  }

  async #drawMissing(amounts: readonly BudgetAmount[]): Promise<number> {
    const missing = amounts
      .map(({ bucket, tokens }) => ({ bucket, tokens: tokens - this.leftOf(bucket) }))
      .filter(({ tokens }) => tokens > 0);
    if (missing.length === 0) return 0;
    const lackMs = this.#knownLackMs(missing);
    if (lackMs > 0) return lackMs;
    try {
      return await this.#drawOf(missing);
    } catch (error) {
      const budget = missing.map(({ bucket }) => bucket.name).join(' ');
      this.#ports.log.debug({ budget, why: errorText(error) }, 'a budget could not be drawn from');
      return AGAIN_MS;
    }
  }

  /** Another one looked meanwhile: how long one of them is too empty at least. */
  #knownLackMs(missing: readonly BudgetAmount[]): number {
    const untilMs = missing.map(({ bucket: { name }, tokens }) => {
      const lack = this.#lacks.get(name);
      return lack !== undefined && lack.least <= tokens ? lack.untilMs : 0;
    });
    return Math.max(...untilMs) - this.#nowMs();
  }

  async #drawOf(missing: readonly BudgetAmount[]): Promise<number> {
    const { store, keys, clock } = this.#ports;
    const policy = this.#policy.get('');
    const rules = missing.map(({ bucket }) => this.ruleOf(bucket));
    if (policy === undefined || rules.includes(null)) return LOOK_MAX_MS;
    const askedAtMs = this.#nowMs();
    let drawn: ReturnType<typeof drawTogether> = [];
    let nowMs = 0;
    const change = await changeRecords(
      store,
      missing.map(({ bucket }) => keys.bucket(bucket.name)),
      bucketCodec,
      (found) => {
        nowMs = Math.floor(clock.nowMs());
        const wanted = rules.flatMap((rule, at) =>
          rule === null ? [] : [{ rule, known: found[at], least: missing[at]?.tokens ?? 1 }],
        );
        drawn = drawTogether(wanted, nowMs);
        return drawn.map(({ bucket }, at) => (bucket === null ? null : { ...found[at], ...bucket }));
      },
      // Another rule would fill it at another rate.
      [{ key: keys.budgets, target: 'modRevision', equals: policy.modRevision }],
    );
    // What an unknown answer took is lost.
    if (change.kind === 'unknown' || change.kind === 'contended') return AGAIN_MS;
    const waitMs = this.#found(missing, drawn, nowMs);
    if (waitMs > 0) return waitMs;
    this.#add(missing, drawn, askedAtMs + SLICE_MS);
    return 0;
  }

  /** @returns for how long one of them is too empty; 0: none is */
  #found(missing: readonly BudgetAmount[], drawn: ReturnType<typeof drawTogether>, nowMs: number): number {
    let longestMs = 0;
    for (const [at, { bucket, tokens }] of missing.entries()) {
      const lacksUntilMs = drawn[at]?.lacksUntilMs ?? null;
      this.#lacks.delete(bucket.name);
      if (lacksUntilMs === null) continue;
      const waitMs = Math.min(Math.max(lacksUntilMs - nowMs, AGAIN_MS), LOOK_MAX_MS);
      this.#lacks.set(bucket.name, { least: tokens, untilMs: this.#nowMs() + waitMs });
      longestMs = Math.max(longestMs, waitMs);
    }
    return longestMs;
  }

  #add(missing: readonly BudgetAmount[], drawn: ReturnType<typeof drawTogether>, untilMs: number): void {
    for (const [at, { bucket }] of missing.entries()) {
      const slice = { left: drawn[at]?.taken ?? 0, untilMs };
      this.#slices.set(bucket.name, [...(this.#slices.get(bucket.name) ?? []), slice]);
    }
    // Of domains that nobody draws of any more.
    for (const [name, slices] of this.#slices)
      if (leftIn(slices, this.#nowMs()) === 0) this.#slices.delete(name);
  }
}
