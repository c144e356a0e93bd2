import type { BudgetKind, BudgetPolicy } from '../../core/quota/budgets.ts';
import { BUDGETS, tooManyText, waitsText } from '../../core/quota/budgets.ts';
import type { BucketRule, Slice } from '../../core/quota/token-bucket.ts';
import { draw, leftIn, SLICE_MS, sliceOf, spend } from '../../core/quota/token-bucket.ts';
import { errorText } from '../../core/errors/errors.ts';
import { bucketCodec, budgetPolicyCodec } from '../../wire/budgets/budget-records.ts';
import type { RolePorts } from '../runtime.ts';
import { sleep } from '../wait/wait.ts';
import { changeRecord } from './change-record.ts';
import type { TableRow } from './records.ts';
import { Table } from './records.ts';

/** Between two draws of the same budget: after a fault, and where others are faster. */
const AGAIN_MS = 500;
/** An empty bucket is looked at again so soon: an operator may have allowed more. */
const LOOK_MAX_MS = 10_000;
/** Who was woken takes what is there within this time, or others are. */
const WOKEN_MS = 1_000;

type Ports = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log' | 'metrics'>;

/** The record of what an operator allows, if there is one. */
interface PolicySource {
  get(name: ''): Pick<TableRow<BudgetPolicy>, 'value' | 'modRevision'> | undefined;
  readonly ready?: Promise<unknown>;
  close?(): void;
}

/** Those of one kind that wait, by who waits: how many tokens each needs at once, and how many in all. */
type Waiting = Map<string, { readonly least: number; readonly all: number }>;

/**
 * The cell's budgets, as one process has them: what an operator allows, the slices that it has drawn, and who waits here. A kind
 * that nobody bounded costs nothing. See `src/core/quota/token-bucket.ts`.
 */
export class Budgets {
  readonly ready: Promise<unknown>;
  readonly #ports: Ports;
  readonly #wake: (kind: BudgetKind, who: string) => void;
  readonly #policy: PolicySource;
  readonly #end = new AbortController();
  readonly #slices = new Map<BudgetKind, readonly Slice[]>();
  readonly #waiting = new Map<BudgetKind, Waiting>();
  readonly #filling = new Set<BudgetKind>();
  /** By kind and what it is for: until when a token that was spent for it is to be used (monotonic). */
  readonly #granted = new Map<string, number>();

  /**
   * @param wake who waits may find tokens now
   * @param policy what is allowed, as the process knows it already: it asks again by itself. Absent: it is followed here
   */
  constructor(ports: Ports, wake: (kind: BudgetKind, who: string) => void, policy?: PolicySource) {
    this.#ports = ports;
    this.#wake = wake;
    this.#policy = policy ?? this.#followed(ports);
    this.ready = this.#policy.ready ?? Promise.resolve();
    // A role that ends before it was ready does not await it.
    this.ready.catch(() => undefined);
  }

  #followed(ports: Ports): Table<BudgetPolicy> {
    return new Table(ports.store, ports.keys.budgets, budgetPolicyCodec, {
      onBadRecord: (error, key) => ports.log.error({ key, error }, 'unreadable record'),
      onChange: () => this.#allowedChanged(),
    });
  }

  close(): void {
    this.#end.abort();
    this.#policy.close?.();
  }

  /** May it be done now? Nothing bounds it, or a token was spent for it. */
  has(kind: BudgetKind, what: string): boolean {
    if (this.#ruleOf(kind) === null) return true;
    const untilMs = this.#granted.get(keyOf(kind, what));
    return untilMs !== undefined && this.#nowMs() < untilMs;
  }

  /**
   * Spends a token for each, as far as there are any; for the others `who` is woken when there are more.
   * @returns whether one was spent
   */
  ask(kind: BudgetKind, who: string, whats: readonly string[]): boolean {
    const open = whats.filter((what) => !this.has(kind, what));
    const spent = open.filter((what) => this.#spend(kind, 1, what));
    const waits = open.length - spent.length;
    this.#wait(kind, who, waits === 0 ? null : { least: 1, all: waits });
    return spent.length > 0;
  }

  /** Spends so many for one thing, or none: then `who` is woken when there are as many. */
  take(kind: BudgetKind, who: string, amount: number): boolean {
    if (amount === 0 || this.#ruleOf(kind) === null) return true;
    const isSpent = this.#spend(kind, amount, null);
    this.#wait(kind, who, isSpent ? null : { least: amount, all: amount });
    return isSpent;
  }

  /** Is `who` woken when there are tokens? Not where it needs more at once than there can be. */
  isWaiting(kind: BudgetKind, who: string): boolean {
    const needs = this.#waiting.get(kind)?.get(who);
    return needs !== undefined && needs.least <= this.#burstOf(kind);
  }

  /** Why it waits, for people; null: it does not. */
  whyWaits(kind: BudgetKind, who: string): string | null {
    const rule = this.#ruleOf(kind);
    const waits = this.#waiting.get(kind)?.get(who);
    if (rule === null || waits === undefined) return null;
    return waits.least > rule.burst ? tooManyText(kind, rule, waits.least) : waitsText(kind, rule);
  }

  #ruleOf(kind: BudgetKind): BucketRule | null {
    return this.#policy.get('')?.value[kind] ?? null;
  }

  #burstOf(kind: BudgetKind): number {
    return this.#ruleOf(kind)?.burst ?? Number.POSITIVE_INFINITY;
  }

  #nowMs(): number {
    return this.#ports.clock.monotonicMs();
  }

  #spend(kind: BudgetKind, amount: number, what: string | null): boolean {
    const nowMs = this.#nowMs();
    const spent = spend(this.#slices.get(kind) ?? [], amount, nowMs);
    if (spent === null) return false;
    this.#slices.set(kind, spent.slices);
    if (what !== null) {
      for (const [key, untilMs] of this.#granted) {
        if (nowMs < untilMs) break;
        this.#granted.delete(key);
      }
      this.#granted.set(keyOf(kind, what), spent.useUntilMs);
    }
    this.#ports.metrics.count('moorage_budget_spent_total', { kind }, amount);
    return true;
  }

  #wait(kind: BudgetKind, who: string, needs: { readonly least: number; readonly all: number } | null): void {
    const waiting = this.#waiting.get(kind);
    if (needs === null) waiting?.delete(who);
    else if (waiting === undefined) this.#waiting.set(kind, new Map([[who, needs]]));
    else waiting.set(who, needs);
    if (needs !== null || waiting !== undefined) this.#measure(kind);
    if (needs !== null && !this.#filling.has(kind)) void this.#fill(kind);
  }

  #measure(kind: BudgetKind): void {
    let all = 0;
    for (const needs of this.#waiting.get(kind)?.values() ?? []) all += needs.all;
    this.#ports.metrics.gauge('moorage_budget_waiting', all, { kind });
  }

  /** Draws slices for as long as somebody waits, and wakes as many as there are tokens for. */
  async #fill(kind: BudgetKind): Promise<void> {
    this.#filling.add(kind);
    const { signal } = this.#end;
    const { clock, log } = this.#ports;
    try {
      while (!signal.aborted && Number.isFinite(this.#leastOf(kind))) {
        const there = leftIn(this.#slices.get(kind) ?? [], this.#nowMs());
        const least = this.#leastOf(kind);
        let waitMs = WOKEN_MS;
        if (there >= least) this.#wakeFirst(kind, there);
        else
          waitMs = await this.#draw(kind, least - there).catch((error: unknown) => {
            log.debug({ budget: kind, why: errorText(error) }, 'a budget could not be drawn from');
            return AGAIN_MS;
          });
        if (waitMs > 0) await sleep(clock, waitMs, signal);
      }
    } finally {
      this.#filling.delete(kind);
    }
  }

  /** The fewest tokens that would help somebody; infinite: nobody can be helped. */
  #leastOf(kind: BudgetKind): number {
    const burst = this.#burstOf(kind);
    const needs = [...(this.#waiting.get(kind)?.values() ?? [])].map(({ least }) => least);
    return Math.min(...needs.filter((least) => least <= burst));
  }

  /** Who needs more at once than there are waits on; who was woken and still waits comes after all others. */
  #wakeFirst(kind: BudgetKind, there: number): void {
    let left = there;
    for (const [who, { least, all }] of [...(this.#waiting.get(kind) ?? [])]) {
      if (left <= 0) break;
      if (least > left) continue;
      left -= all;
      this.#waiting.get(kind)?.delete(who);
      this.#wake(kind, who);
    }
    this.#measure(kind);
  }

  /** @returns in how many milliseconds to look again; 0: there are tokens */
  async #draw(kind: BudgetKind, least: number): Promise<number> {
    const { store, keys, clock } = this.#ports;
    const rule = this.#ruleOf(kind);
    const policy = this.#policy.get('');
    if (rule === null || policy === undefined) return LOOK_MAX_MS;
    const askedAtMs = this.#nowMs();
    let taken = 0;
    let nextInMs = 0;
    const change = await changeRecord(
      store,
      keys.bucket(kind),
      bucketCodec,
      (known) => {
        const nowMs = Math.floor(clock.nowMs());
        const drawn = draw(rule, known, { least, most: sliceOf(rule) }, nowMs);
        taken = drawn.taken;
        nextInMs = drawn.nextAtMs - nowMs;
        return drawn.bucket === null ? null : { ...known, ...drawn.bucket };
      },
      // Another rule would fill it at another rate.
      [{ key: keys.budgets, target: 'modRevision', equals: policy.modRevision }],
    );
    // What an unknown answer took is lost.
    if (change.kind === 'unknown' || change.kind === 'contended') return AGAIN_MS;
    if (change.kind === 'kept' || taken === 0) return Math.min(Math.max(nextInMs, AGAIN_MS), LOOK_MAX_MS);
    const slice = { left: taken, untilMs: askedAtMs + SLICE_MS };
    this.#slices.set(kind, [...(this.#slices.get(kind) ?? []), slice]);
    return 0;
  }

  /** Whoever waits asks again under the new rules. */
  #allowedChanged(): void {
    for (const kind of BUDGETS) {
      const waiting = [...(this.#waiting.get(kind)?.keys() ?? [])];
      this.#waiting.get(kind)?.clear();
      for (const who of waiting) this.#wake(kind, who);
      if (waiting.length > 0) this.#measure(kind);
    }
  }
}

function keyOf(kind: BudgetKind, what: string): string {
  return `${kind} ${what}`;
}
