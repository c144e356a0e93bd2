import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Attempt, Compare } from '../../../src/ports/cell-store.ts';
import type { Stamped } from '../../history/history.ts';
import type { RevisionFact } from '../../history/store-facts.ts';
import type { CellAt, Step } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';

/**
 * I4 and I7 at their root: only the compare clause carries safety, so every write must have compared what
 * docs/etcd-keys.md demands. A write that did not is wrong, even if it did no harm in this run.
 */
export class ComparedWritesChecker {
  readonly #keys: CellKeys;

  constructor(keys: CellKeys) {
    this.#keys = keys;
  }

  check(step: Step, before: BeforeStep, at: Stamped<RevisionFact>, findings: Findings): void {
    const { attempt } = at.fact;
    if (attempt === null) return;
    const compared = new Map<string, Compare>();
    for (const compare of attempt.compares) compared.set(compare.key, compare);
    const blind = (invariant: string, key: string, what: string): void =>
      findings.add(invariant, step.revision, key, `${what}, without a compare that guards it`);
    for (const { key } of step.changed.ledgers)
      if (compared.get(key)?.target !== 'modRevision') blind('I4', key, 'a ledger was written');
    this.#checkAllocations(step, compared, blind);
    for (const kind of GUARDED)
      for (const { key } of step.changed[kind]) if (!compared.has(key)) blind('I7', key, `${kind} changed`);
    // A version is numbered by its job's record, which is compared for both.
    for (const { key, name } of step.changed.versions)
      if (!compared.has(this.#keys.jobs + name.slice(0, name.lastIndexOf('/'))))
        blind('I7', key, 'versions changed');
    for (const { key, name, after } of step.changed.outcomes)
      if (after !== undefined && !this.#guardsOutcome(attempt, name, before))
        blind('I4', key, 'an outcome was written');
  }

  #checkAllocations(step: Step, compared: ReadonlyMap<string, Compare>, blind: Blind): void {
    for (const { key, before, after } of step.changed.allocations) {
      const ledger = this.#keys.ledger((after ?? before)?.host ?? '');
      const guarded = compared.has(key) || compared.has(ledger);
      if (!guarded) blind('I4', key, 'an allocation changed');
      const isPlaced = before === undefined && after !== undefined;
      const one = isPlaced || after === undefined ? (after ?? before) : undefined;
      if (one === undefined) continue;
      const { namespace, job, intent } = one;
      const owner = this.#keys.owner(namespace, job);
      // Any scheduler may release what a void intent had reserved.
      const isVoid =
        !isPlaced && intent !== undefined && compared.has(this.#keys.intent(namespace, job, intent));
      if (isVoid) continue;
      if (compared.get(owner)?.target !== 'createRevision')
        blind('I7', key, `an allocation was ${isPlaced ? 'placed' : 'released'}, ownership unseen`);
    }
  }

  /** It takes the place of an allocation in the same attempt, or is of a slot that its writer owns. */
  #guardsOutcome(attempt: Attempt, name: string, before: BeforeStep): boolean {
    const jobKey = name.slice(0, name.lastIndexOf('/'));
    const guards = [this.#keys.owners + jobKey, this.#keys.outcomes + name, this.#keys.allocations + name];
    const host = before.hostOf(name);
    if (host !== undefined) guards.push(this.#keys.ledger(host));
    return attempt.compares.some(({ key }) => guards.includes(key));
  }
}

/** Kinds of records of which every change compares the key itself. */
const GUARDED = ['jobs', 'intents', 'owners', 'runs', 'eligibility', 'hosts', 'meta'] as const;

type Blind = (invariant: string, key: string, what: string) => void;

/** What the cell held before the step. */
export interface BeforeStep {
  hostOf(name: string): string | undefined;
}

/** Reads it off the step itself: what it deleted was there before. */
export function beforeOf(step: Step, cell: CellAt): BeforeStep {
  return {
    hostOf: (name) => {
      const diff = step.changed.allocations.find((one) => one.name === name);
      return diff === undefined ? cell.allocations.get(name)?.host : diff.before?.host;
    },
  };
}
