import type { Allocation } from '../../core/cell/allocation.ts';
import type { Host } from '../../core/host/host.ts';
import type { BudgetAmount, BudgetBucket } from '../../core/quota/budget-buckets.ts';
import { amountsOf, bucketsFor, tooManyText, waitsText } from '../../core/quota/budget-buckets.ts';
import type { BudgetKind, BudgetPolicy } from '../../core/quota/budgets.ts';
import { budgetPolicyCodec } from '../../wire/budgets/budget-records.ts';
import type { RolePorts } from '../runtime.ts';
import { sleep } from '../wait/wait.ts';
import type { PolicySource } from './budget-tokens.ts';
import { BudgetTokens } from './budget-tokens.ts';
import { Table } from './records.ts';

/** Who was woken takes what is there within this time, or others are. */
const WOKEN_MS = 1_000;
/** Of the buckets for which something waits, so many are told. */
const TEXTS_MAX = 3;

type Ports = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log' | 'metrics'>;

/** What a token is for: it leaves its host. */
export type Leaving = Pick<Allocation, 'id' | 'host'>;

export interface Asking extends Leaving {
  /** No more of the group can use a token now: the first of it that find one have it. Absent: as many as there are. */
  readonly within?: { readonly group: string; readonly most: number };
}

export interface BudgetParts {
  /** Who waits may find tokens now. */
  readonly wake: (kind: BudgetKind, who: string) => void;
  /** With the labels that operators gave it; undefined: it is not registered. */
  readonly hostOf: (host: string) => Host | undefined;
  /** What is allowed, as the process knows it already: it asks again by itself. Absent: it is followed here. */
  readonly policy?: PolicySource;
}

/** What one of those that wait needs at once, how often, and for how many allocations in all. */
interface Need {
  readonly amounts: readonly BudgetAmount[];
  readonly times: number;
  readonly count: number;
}

/** Those that wait for tokens of the same buckets, by who waits. */
interface WaitQueue {
  readonly name: string;
  readonly kind: BudgetKind;
  readonly buckets: readonly BudgetBucket[];
  readonly waiting: Map<string, Need>;
  isFilling: boolean;
}

/**
 * The cell's budgets, as one process has them: what an operator allows, what the tokens that it has drawn are for, and who
 * waits here. A kind that nobody bounded costs nothing. See `src/core/quota/token-bucket.ts`.
 */
export class Budgets {
  readonly ready: Promise<unknown>;
  readonly #ports: Ports;
  readonly #parts: BudgetParts;
  readonly #policy: PolicySource;
  readonly #tokens: BudgetTokens;
  readonly #end = new AbortController();
  readonly #queues = new Map<string, WaitQueue>();
  /** By kind and who waits in them. */
  readonly #queuesOf = new Map<string, readonly WaitQueue[]>();
  /** By buckets and what it is for: until when the tokens that were spent for it are to be used (monotonic). */
  readonly #granted = new Map<string, number>();

  constructor(ports: Ports, parts: BudgetParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#policy = parts.policy ?? this.#followed(ports);
    this.#tokens = new BudgetTokens(ports, this.#policy);
    this.ready = this.#policy.ready ?? Promise.resolve();
    // A role that ends before it was ready does not await it.
    this.ready.catch(() => undefined);
  }

  #followed(ports: Ports): Table<BudgetPolicy> {
    return new Table(ports.store, ports.keys.budgets, budgetPolicyCodec, {
      onBadRecord: (error, key) => ports.log.error({ key, error }, 'unreadable record'),
      // Whoever waits asks again under the new rules.
      onChange: () => {
        for (const queue of this.#queues.values()) this.#wakeAll(queue);
      },
    });
  }

  close(): void {
    this.#end.abort();
    this.#policy.close?.();
  }

  /** May it be done now? Nothing bounds it, or tokens were spent for it. */
  has(kind: BudgetKind, leaving: Leaving): boolean {
    return this.#isGranted(this.#bucketsFor(kind, leaving), leaving);
  }

  /**
   * Spends tokens for each, as far as there are any; for the others `who` is woken when there are more.
   * @returns whether any was spent
   */
  ask(kind: BudgetKind, who: string, asking: readonly Asking[]): boolean {
    const short: { readonly amounts: readonly BudgetAmount[]; readonly one: Asking }[] = [];
    const given = new Map<string, number>();
    const isWithin = ({ within }: Asking): boolean =>
      within === undefined || (given.get(within.group) ?? 0) < within.most;
    for (const one of asking) {
      const buckets = this.#bucketsFor(kind, one);
      if (!isWithin(one) || this.#isGranted(buckets, one)) continue;
      const amounts = amountsOf([buckets]);
      const useUntilMs = this.#spend(kind, amounts, 1);
      if (useUntilMs === null) {
        short.push({ amounts, one });
        continue;
      }
      this.#granted.set(grantOf(buckets, one.id), useUntilMs);
      const group = one.within?.group ?? '';
      given.set(group, 1 + (given.get(group) ?? 0));
    }
    this.#wait(kind, who, needsOf(short.filter(({ one }) => isWithin(one))));
    return given.size > 0;
  }

  /** Spends tokens for all of them, or none: then `who` is woken when there are as many. */
  take(kind: BudgetKind, who: string, leaving: readonly Leaving[]): boolean {
    const amounts = amountsOf(leaving.map((one) => this.#bucketsFor(kind, one)));
    if (amounts.length === 0) return true;
    const isSpent = this.#spend(kind, amounts, leaving.length) !== null;
    this.#wait(kind, who, isSpent ? [] : [{ amounts, times: 1, count: leaving.length }]);
    return isSpent;
  }

  /** Is `who` woken when there are tokens? Not where it needs more at once than there can be. */
  isWaiting(kind: BudgetKind, who: string): boolean {
    const needs = this.#needsOf(kind, who);
    return needs.length > 0 && needs.every((need) => this.#excessOf(need) === null);
  }

  /** Why it waits, for people; null: it does not. */
  whyWaits(kind: BudgetKind, who: string): string | null {
    const texts = new Set(this.#needsOf(kind, who).flatMap((need) => this.#textsOf(need)));
    if (texts.size === 0) return null;
    const more = texts.size > TEXTS_MAX ? [`and for ${String(texts.size - TEXTS_MAX)} others`] : [];
    return [...[...texts].slice(0, TEXTS_MAX), ...more].join('; ');
  }

  #textsOf(need: Need): readonly string[] {
    const excess = this.#excessOf(need);
    const textOf = (bucket: BudgetBucket): readonly string[] => {
      const rule = this.#tokens.ruleOf(bucket);
      if (rule === null) return [];
      return [excess === null ? waitsText(bucket, rule) : tooManyText(excess, rule)];
    };
    return (excess === null ? this.#tokens.lacking(need.amounts) : [excess.bucket]).flatMap(textOf);
  }

  /** Of which it needs more at once than there can be; null: of none. */
  #excessOf({ amounts }: Need): BudgetAmount | null {
    const burstOf = (bucket: BudgetBucket): number => this.#tokens.ruleOf(bucket)?.burst ?? Infinity;
    return amounts.find(({ bucket, tokens }) => tokens > burstOf(bucket)) ?? null;
  }

  #needsOf(kind: BudgetKind, who: string): readonly Need[] {
    const queues = this.#queuesOf.get(keyOf(kind, who)) ?? [];
    return queues.flatMap(({ waiting }) => waiting.get(who) ?? []);
  }

  #bucketsFor(kind: BudgetKind, { host }: Leaving): readonly BudgetBucket[] {
    return bucketsFor(this.#tokens.policy, kind, () => this.#parts.hostOf(host));
  }

  #isGranted(buckets: readonly BudgetBucket[], { id }: Leaving): boolean {
    if (buckets.length === 0) return true;
    const untilMs = this.#granted.get(grantOf(buckets, id));
    return untilMs !== undefined && this.#ports.clock.monotonicMs() < untilMs;
  }

  /** @returns until when it is to be done; null: there are no tokens */
  #spend(kind: BudgetKind, amounts: readonly BudgetAmount[], count: number): number | null {
    const useUntilMs = this.#tokens.spend(amounts);
    if (useUntilMs === null) return null;
    const nowMs = this.#ports.clock.monotonicMs();
    for (const [key, untilMs] of this.#granted) {
      if (nowMs < untilMs) break;
      this.#granted.delete(key);
    }
    this.#ports.metrics.count('moorage_budget_spent_total', { kind }, count);
    return useUntilMs;
  }

  #wait(kind: BudgetKind, who: string, needs: readonly Need[]): void {
    const before = this.#queuesOf.get(keyOf(kind, who)) ?? [];
    const now = needs.map((need) => {
      const queue = this.#queueFor(kind, need);
      queue.waiting.set(who, need);
      return queue;
    });
    for (const queue of before) if (!now.includes(queue)) this.#leave(queue, who);
    if (now.length > 0) this.#queuesOf.set(keyOf(kind, who), now);
    else this.#queuesOf.delete(keyOf(kind, who));
    if (before.length > 0 || now.length > 0) this.#measure(kind);
    for (const queue of now) if (!queue.isFilling) void this.#fill(queue);
  }

  #queueFor(kind: BudgetKind, { amounts }: Need): WaitQueue {
    const name = queueName(amounts);
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const buckets = amounts.map(({ bucket }) => bucket);
    const queue: WaitQueue = { name, kind, buckets, waiting: new Map(), isFilling: false };
    this.#queues.set(name, queue);
    return queue;
  }

  #leave(queue: WaitQueue, who: string): void {
    queue.waiting.delete(who);
    if (!queue.isFilling) this.#endIfEmpty(queue);
  }

  #endIfEmpty({ name, waiting, buckets }: WaitQueue): void {
    if (waiting.size > 0) return;
    this.#queues.delete(name);
    for (const bucket of buckets) this.#tokens.forget(bucket);
  }

  #measure(kind: BudgetKind): void {
    let all = 0;
    for (const queue of this.#queues.values())
      if (queue.kind === kind) for (const { count } of queue.waiting.values()) all += count;
    this.#ports.metrics.gauge('moorage_budget_waiting', all, { kind });
  }

  /** Draws slices for as long as somebody waits, and wakes as many as there are tokens for. */
  async #fill(queue: WaitQueue): Promise<void> {
    queue.isFilling = true;
    const { signal } = this.#end;
    try {
      while (!signal.aborted) {
        // Under other rules it needs tokens of other buckets.
        if (queue.buckets.some((bucket) => this.#tokens.ruleOf(bucket) === null)) this.#wakeAll(queue);
        const amounts = this.#leastOf(queue);
        if (amounts === null) break;
        const againMs = await this.#tokens.draw(queue.kind, amounts);
        if (againMs === 0) this.#wakeFirst(queue);
        await sleep(this.#ports.clock, againMs === 0 ? WOKEN_MS : againMs, signal);
      }
    } finally {
      queue.isFilling = false;
      this.#endIfEmpty(queue);
    }
  }

  /** The fewest tokens that would help somebody; null: nobody can be helped. */
  #leastOf({ waiting }: WaitQueue): readonly BudgetAmount[] | null {
    const possible = [...waiting.values()].filter((need) => this.#excessOf(need) === null);
    const [first, ...rest] = possible.map(({ amounts }) => amounts);
    return first === undefined ? null : rest.reduce((a, b) => (sumOf(b) < sumOf(a) ? b : a), first);
  }

  /** Who needs more at once than there are waits on; who was woken and still waits comes after all others. */
  #wakeFirst(queue: WaitQueue): void {
    const left = new Map(queue.buckets.map((bucket) => [bucket.name, this.#tokens.leftOf(bucket)]));
    const leftOf = ({ bucket }: BudgetAmount): number => left.get(bucket.name) ?? 0;
    for (const [who, { amounts, times }] of [...queue.waiting]) {
      if (amounts.some((amount) => amount.tokens > leftOf(amount))) continue;
      for (const amount of amounts) left.set(amount.bucket.name, leftOf(amount) - amount.tokens * times);
      this.#wakeOne(queue, who);
    }
    this.#measure(queue.kind);
  }

  #wakeAll(queue: WaitQueue): void {
    for (const who of [...queue.waiting.keys()]) this.#wakeOne(queue, who);
    this.#measure(queue.kind);
  }

  #wakeOne(queue: WaitQueue, who: string): void {
    const key = keyOf(queue.kind, who);
    const others = (this.#queuesOf.get(key) ?? []).filter((one) => one !== queue);
    if (others.length > 0) this.#queuesOf.set(key, others);
    else this.#queuesOf.delete(key);
    queue.waiting.delete(who);
    this.#parts.wake(queue.kind, who);
  }
}

/** One for each set of buckets. */
function needsOf(
  short: readonly { readonly amounts: readonly BudgetAmount[]; readonly one: Asking }[],
): readonly Need[] {
  const needs = new Map<string, Need>();
  for (const { amounts, one } of short) {
    const name = queueName(amounts);
    const count = 1 + (needs.get(name)?.count ?? 0);
    needs.set(name, { amounts, times: Math.min(count, one.within?.most ?? count), count });
  }
  return [...needs.values()];
}

function keyOf(kind: BudgetKind, who: string): string {
  return `${kind} ${who}`;
}

/** Values of attributes may have spaces. */
function queueName(amounts: readonly BudgetAmount[]): string {
  const names = amounts.map(({ bucket }) => bucket.name);
  return names.sort().join('\n');
}

function grantOf(buckets: readonly BudgetBucket[], allocation: string): string {
  return [allocation, ...buckets.map(({ name }) => name)].join('\n');
}

function sumOf(amounts: readonly BudgetAmount[]): number {
  return amounts.reduce((sum, { tokens }) => sum + tokens, 0);
}
