import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { isAdopted } from '../../../src/core/cell/allocation.ts';
import type { BudgetKind } from '../../../src/core/quota/budgets.ts';
import { BUDGETS, ruleText } from '../../../src/core/quota/budgets.ts';
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

/**
 * I76: a bucket gives no more than its rule, and who does what has a budget uses a token of his own for it, in time. How many tokens a write
 * of the bucket drew is what the bucket lacks since, by true time: nobody's word is taken for it. Of runs with true clocks.
 */
export class BudgetChecker {
  /** By writer and kind, the oldest first. */
  readonly #drawn = new Map<string, Drawn[]>();
  /** Since when there is a rule for a kind; and when there last was an operator's word that a host is lost. */
  readonly #boundSinceMs = new Map<BudgetKind, number>();
  readonly #confirmedAtMs = new Map<string, number>();
  /** By host, the last deadline of a drain that is over. */
  readonly #deadlines = new Map<string, { readonly deadlineMs: number; readonly endedAtMs: number }>();

  check(step: Step, cell: CellAt, at: Stamp, fact: RevisionFact, findings: Findings): void {
    const policy = cell.budgets.get('') ?? {};
    for (const kind of BUDGETS)
      if (policy[kind] === undefined) this.#boundSinceMs.delete(kind);
      else if (!this.#boundSinceMs.has(kind)) this.#boundSinceMs.set(kind, at.atMs);
    for (const { name, after, before } of step.changed.eligibility)
      if (after?.confirmed !== undefined || before?.confirmed !== undefined)
        this.#confirmedAtMs.set(name, at.atMs);
    for (const { name, before } of step.changed.eligibility)
      if (before?.drainDeadlineMs !== undefined)
        this.#deadlines.set(name, { deadlineMs: before.drainDeadlineMs, endedAtMs: at.atMs });
    const writer = fact.actor ?? '';
    const askedAtMs = fact.askedAtMs ?? at.atMs;
    for (const diff of step.changed.buckets) {
      const kind = BUDGETS.find((one) => one === diff.name);
      const rule = kind === undefined ? undefined : policy[kind];
      if (kind === undefined || rule === undefined || diff.after === undefined) continue;
      const tokens = this.#checkBucket(step, diff, diff.after, rule, askedAtMs, findings);
      if (tokens > 0) this.#of(writer, kind).push({ tokens, atMs: at.atMs });
    }
    for (const { before, after } of step.changed.allocations) {
      const kind = this.#budgetOfChange(step, { before, after }, cell, askedAtMs);
      const rule = kind === null ? undefined : policy[kind];
      if (kind === null || rule === undefined) continue;
      if (at.atMs - (this.#boundSinceMs.get(kind) ?? at.atMs) < UNTOLD_MS) continue;
      if (this.#use(writer, kind, askedAtMs)) continue;
      const text = `${writer} had no token of ${kind} (${ruleText(rule)}) when it wrote ${after?.cause ?? GIVEN_UP}`;
      findings.add('I76', step.revision, (after ?? before)?.id ?? '', text);
    }
  }

  /** @returns how many tokens it drew */
  #checkBucket(
    step: Step,
    { name, before }: Diff<Bucket>,
    after: Bucket,
    rule: BucketRule,
    askedAtMs: number,
    findings: Findings,
  ): number {
    const tokenMs = HOUR_MS / rule.perHour;
    const nowMs = Math.floor(WALL_START_MS + askedAtMs);
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

  /** Takes the oldest token that can still be used. */
  #use(writer: string, kind: BudgetKind, askedAtMs: number): boolean {
    const drawn = this.#of(writer, kind);
    const usable = drawn.find(({ tokens, atMs }) => tokens > 0 && askedAtMs - atMs <= USE_MS);
    if (usable === undefined) return false;
    usable.tokens -= 1;
    return true;
  }

  #of(writer: string, kind: BudgetKind): Drawn[] {
    const key = `${writer} ${kind}`;
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
