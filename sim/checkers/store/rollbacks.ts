import type { RecordedHistory } from '../../history/history.ts';
import type { StoreCall } from '../../history/store-facts.ts';
import { revisionOf } from '../../history/store-facts.ts';
import type { Findings } from '../replay/violations.ts';

interface Known {
  /** The newest revision that it was answered with. */
  revision: number;
  /** When it was answered with one that was older than what it knew as it asked; null: it was not. */
  wentBack: number | null;
}

/**
 * I54: a role that was answered by a store whose revision had gone back behind one that the role knew asks it nothing more, but
 * restarts. The store's id is not considered: a store may go back under the same id.
 */
export function checkRollbacks(history: RecordedHistory, findings: Findings): void {
  if (history.restores.length === 0) return;
  const known = new Map<string, Known>();
  const knownOf = (actor: string): Known => {
    let its = known.get(actor);
    if (its === undefined) known.set(actor, (its = { revision: 0, wentBack: null }));
    return its;
  };
  const asked = new Map<StoreCall, number>();
  const steps: { readonly seq: number; readonly take: () => void }[] = [];
  for (const { seq, fact } of history.actors)
    if (fact.change === 'started') steps.push({ seq, take: () => known.delete(fact.actor) });
  for (const call of history.storeCalls) {
    const { actor, from, to, atMs } = call;
    const ask = (): void => {
      const { revision, wentBack } = knownOf(actor);
      asked.set(call, revision);
      if (wentBack !== null)
        findings.prove('I54', actor, 'asks a store that had gone back behind what it knew', [
          { seq: to, atMs },
        ]);
    };
    const answer = (): void => {
      const its = knownOf(actor);
      const revision = revisionOf(call);
      // A call of an earlier life has no receiver.
      const before = asked.get(call) ?? 0;
      if (revision !== null && revision < before) its.wentBack ??= to;
      its.revision = Math.max(its.revision, revision ?? 0);
    };
    steps.push({ seq: from, take: ask }, { seq: to, take: answer });
  }
  for (const { take } of steps.sort((a, b) => a.seq - b.seq)) take();
}
