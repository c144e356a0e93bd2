import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import type { BudgetBucket } from '../../../src/core/quota/budget-buckets.ts';
import { bucketNamed, bucketsFor, ruleOf, ruleText } from '../../../src/core/quota/budget-buckets.ts';
import type { BudgetKind, BudgetPolicy } from '../../../src/core/quota/budgets.ts';
import { BUDGETS } from '../../../src/core/quota/budgets.ts';
import { canonicalJson } from '../../../src/core/json/canonical-json.ts';
import type { Bucket, BucketRule } from '../../../src/core/quota/token-bucket.ts';
import { AHEAD_MAX_MS, USE_MS } from '../../../src/core/quota/token-bucket.ts';
import { SURPLUS_PRECEDENCE } from '../../../src/core/cell/claim.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import { GIVEN_UP } from '../../../src/core/slots/given-up.ts';
import { CAUSES } from '../../../src/core/slots/job-view.ts';
import { WALL_START_MS } from '../../agenda/virtual-clock.ts';
import type { Stamp } from '../../history/history.ts';
import type { RevisionFact } from '../../history/store-facts.ts';
import type { CellAt, Diff, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';
import { EarlierHosts } from './earlier-hosts.ts';

const HOUR_MS = 3_600_000;
/** Until a role has been told of what an operator wrote. */
const UNTOLD_MS = 10_000;

/** What an author's own change displaces needs no token. */
function isOfNewest({ namespace, job, jobVersion }: Allocation, cell: CellAt): boolean {
  return cell.jobs.get(jobKeyOf(namespace, job))?.version === jobVersion;
}

/** Tokens that one process drew, and has not used. */
interface Drawn {
  tokens: number;
  readonly atMs: number;
}

/** Since when an operator bounds the same, and how much was done since. */
interface Bound {
  readonly rule: string;
  readonly sinceMs: number;
  /** By bucket; null: it is not counted. */
  readonly done: Map<string, number> | null;
}

/**
 * I76: a bucket gives no more than its rule, and who does what has a budget uses a token of the cell's bucket and one of the bucket
 * of its host's failure domain for it, tokens of his own, in time. How many tokens a write of a bucket drew is what the bucket
 * lacks since, by true time: nobody's word is taken for it. Besides, what is done is counted, whatever the buckets say: since the rule
 * was made it is no more than the burst and what came back. Of runs with true clocks.
 */
export class BudgetChecker {
  /** By writer and bucket, the oldest first. */
  readonly #drawn = new Map<string, Drawn[]>();
  /** By kind, and by kind and attribute. */
  readonly #bounds = new Map<string, Bound>();
  readonly #hosts = new EarlierHosts();
  /** When there last was an operator's word that a host is lost. */
  readonly #confirmedAtMs = new Map<string, number>();
  /** By host, the last deadline of a drain that is over. */
  readonly #deadlines = new Map<string, { readonly deadlineMs: number; readonly endedAtMs: number }>();

  check(step: Step, cell: CellAt, at: Stamp, fact: RevisionFact, findings: Findings): void {
    const policy = cell.budgets.get('') ?? {};
    this.#followRules(step, policy, at.atMs);
    this.#hosts.apply(step, cell, at.atMs);
    for (const { name, after, before } of step.changed.eligibility)
      if (after?.confirmed !== undefined || before?.confirmed !== undefined)
        this.#confirmedAtMs.set(name, at.atMs);
    for (const { name, before } of step.changed.eligibility)
      if (before?.drainDeadlineMs !== undefined)
        this.#deadlines.set(name, { deadlineMs: before.drainDeadlineMs, endedAtMs: at.atMs });
    const writer = fact.actor ?? '';
    const askedAtMs = fact.askedAtMs ?? at.atMs;
    for (const diff of step.changed.buckets) {
      const bucket = bucketNamed(diff.name);
      const rule = bucket === null ? null : ruleOf(policy, bucket);
      if (rule === null) continue;
      const tokens = this.#checkBucket(step, diff, rule, askedAtMs, findings);
      if (tokens > 0) this.#of(writer, diff.name).push({ tokens, atMs: at.atMs });
    }
    for (const { before, after } of step.changed.allocations) {
      const kind = this.#budgetOfChange(step, { before, after }, cell, askedAtMs);
      const allocation = after ?? before;
      if (kind === null || allocation === undefined) continue;
      const times = { atMs: at.atMs, askedAtMs };
      for (const fault of this.#faultsOf(cell, kind, allocation, writer, times))
        findings.add(
          'I76',
          step.revision,
          allocation.id,
          `${fault} when it wrote ${after?.cause ?? GIVEN_UP}`,
        );
    }
  }

  /** Of the cell and of the host's domain: what it had no token for, and what is more than may be. */
  #faultsOf(
    cell: CellAt,
    kind: BudgetKind,
    { host }: Allocation,
    writer: string,
    { atMs, askedAtMs }: { readonly atMs: number; readonly askedAtMs: number },
  ): readonly string[] {
    const policy = cell.budgets.get('') ?? {};
    const known = this.#hosts
      .since(cell, host, askedAtMs - UNTOLD_MS)
      .map((one) => bucketsFor(policy, kind, () => one));
    return (known[0] ?? []).flatMap((bucket, nth) => {
      const rule = ruleOf(policy, bucket);
      const bound = this.#boundOf(policy, bucket, atMs);
      if (rule === null || atMs - bound.sinceMs < UNTOLD_MS) return [];
      const done = 1 + (bound.done?.get(bucket.name) ?? 0);
      bound.done?.set(bucket.name, done);
      // Of hosts whose label changed it is not known which domain their own role took them for.
      const names = [...new Set(known.flatMap((each) => each[nth]?.name ?? []))];
      const faults: string[] = [];
      if (!this.#use(writer, names, askedAtMs))
        faults.push(`${writer} had no token of ${names.join(' or ')} (${ruleText(rule)})`);
      if (names.length === 1 && done > rule.burst + ((atMs - bound.sinceMs) * rule.perHour) / HOUR_MS)
        faults.push(`${writer} did number ${String(done)} of ${bucket.name}, more than ${ruleText(rule)}`);
      return faults;
    });
  }

  #followRules({ changed }: Step, policy: BudgetPolicy, atMs: number): void {
    if (changed.budgets.length === 0) return;
    for (const kind of BUDGETS)
      for (const bucket of bucketsFor(policy, kind, () => undefined)) this.#boundOf(policy, bucket, atMs);
  }

  #boundOf(policy: BudgetPolicy, bucket: BudgetBucket, atMs: number): Bound {
    const key = bucket.domain === null ? bucket.kind : `${bucket.kind}/${bucket.domain.attribute}`;
    const rule = canonicalJson(ruleOf(policy, bucket));
    const known = this.#bounds.get(key);
    if (known?.rule === rule) return known;
    // What was drawn under the rule before may be used still.
    const bound = { rule, sinceMs: atMs, done: known === undefined ? new Map<string, number>() : null };
    this.#bounds.set(key, bound);
    return bound;
  }

  /** @returns how many tokens it drew */
  #checkBucket(
    step: Step,
    { name, before, after }: Diff<Bucket>,
    rule: BucketRule,
    askedAtMs: number,
    findings: Findings,
  ): number {
    const nowMs = Math.floor(WALL_START_MS + askedAtMs);
    if (after === undefined) {
      if ((before?.fullAtMs ?? 0) > nowMs)
        findings.add('I76', step.revision, name, 'was deleted, and so filled, before it was full');
      return 0;
    }
    const tokenMs = HOUR_MS / rule.perHour;
    const lackedMs = Math.max(0, (before?.fullAtMs ?? 0) - nowMs);
    const depthMs = Math.ceil(rule.burst * tokenMs);
    if (after.fullAtMs - nowMs > depthMs)
      findings.add('I76', step.revision, name, `drawn from though it was empty: ${ruleText(rule)}`);
    if (lackedMs > depthMs + AHEAD_MAX_MS) return 0;
    const drawnMs = after.fullAtMs - nowMs - lackedMs;
    if (drawnMs < 0)
      findings.add('I76', step.revision, name, `fuller by ${String(-drawnMs)} ms than it can be`);
    return Math.floor(drawnMs / tokenMs + 1e-6);
  }

  /** Was there a deadline for the host, and is it over? */
  #isDue(host: string, cell: CellAt, askedAtMs: number): boolean {
    const before = this.#deadlines.get(host);
    const last = before !== undefined && askedAtMs - before.endedAtMs < UNTOLD_MS ? before.deadlineMs : null;
    return [cell.eligibility.get(host)?.drainDeadlineMs ?? null, last].some(
      (deadlineMs) => deadlineMs !== null && WALL_START_MS + askedAtMs >= deadlineMs,
    );
  }

  /** Takes the oldest token of one of the buckets that can still be used. */
  #use(writer: string, buckets: readonly string[], askedAtMs: number): boolean {
    const drawn = buckets.flatMap((bucket) => this.#of(writer, bucket));
    const usable = drawn.find(({ tokens, atMs }) => tokens > 0 && askedAtMs - atMs <= USE_MS);
    if (usable === undefined) return false;
    usable.tokens -= 1;
    return true;
  }

  #of(writer: string, bucket: string): Drawn[] {
    const key = `${writer} ${bucket}`;
    let drawn = this.#drawn.get(key);
    if (drawn === undefined) this.#drawn.set(key, (drawn = []));
    return drawn;
  }

  /** Which budget the change needs; null: none. */
  #budgetOfChange(
    step: Step,
    { before, after }: Pick<Diff<Allocation>, 'before' | 'after'>,
    cell: CellAt,
    askedAtMs: number,
  ): BudgetKind | null {
    if (after !== undefined)
      return before?.desired === 'run' && !isAdopted(after) ? this.#budgetOf(after, cell, askedAtMs) : null;
    const isGivenUp = step.changed.outcomes.some(
      ({ after: outcome }) => outcome?.allocation === before?.id && outcome?.exit?.lost === GIVEN_UP,
    );
    return isGivenUp && before !== undefined && !this.#isConfirmed(before, cell, askedAtMs)
      ? 'orphans'
      : null;
  }

  /** Has an operator said that its host is lost, or a fence that it runs no more? */
  #isConfirmed({ host }: Allocation, cell: CellAt, askedAtMs: number): boolean {
    const confirmedAtMs = this.#confirmedAtMs.get(host) ?? Number.NEGATIVE_INFINITY;
    if (cell.eligibility.get(host)?.fences !== undefined) return true;
    return askedAtMs - confirmedAtMs < UNTOLD_MS;
  }

  /** Which budget it needs to be stopped as it is now; null: none. */
  #budgetOf(allocation: Allocation, cell: CellAt, askedAtMs: number): BudgetKind | null {
    const { cause = '', desired, host, precedence } = allocation;
    if (desired === 'evict') return precedence === SURPLUS_PRECEDENCE ? null : 'evictions';
    if (desired !== 'stop') return null;
    if (cause === CAUSES.hostLost) {
      const confirmedAtMs = this.#confirmedAtMs.get(host) ?? Number.NEGATIVE_INFINITY;
      return askedAtMs - confirmedAtMs < UNTOLD_MS ? null : 'replacements';
    }
    if (cause === CAUSES.draining) return this.#isDue(host, cell, askedAtMs) ? null : 'moves';
    if (cause === CAUSES.notMatching) return isOfNewest(allocation, cell) ? 'moves' : null;
    return cause.startsWith(CAUSES.moved) ? 'moves' : null;
  }
}
