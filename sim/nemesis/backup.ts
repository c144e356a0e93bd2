import type { SavedCell } from '../../src/adapters/memory/cell.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { allocationCodec, intentCodec } from '../../src/wire/records/records.ts';
import type { Environment } from '../actor/environment.ts';
import type { Fault, FaultKind } from './fault.ts';

const FROM_BACKUP: ReadonlySet<FaultKind> = new Set(['restore', 'restore-bumped', 'restore-same-id']);

/**
 * Saves the store before a fault of the plan after which it is restored: `amount` ms before it, or with `gang-open` at one of
 * the moments from then on at which a gang lay reserved, each as likely, if there is any.
 * @returns what was saved last; null: nothing, or it is no such fault
 */
export function backupFor(fault: Fault, environment: Environment): () => SavedCell | null {
  if (!FROM_BACKUP.has(fault.kind)) return () => null;
  const { agenda, life, store, random } = environment;
  let saved: SavedCell | null = null;
  const save = (): void => {
    saved = store.cell.save();
    if (fault.code !== 'gang-open') return;
    const own = random.split(`backup ${String(fault.atMs)}`);
    const stop = saveWhileReserved(environment, own, (found) => (saved = found));
    agenda.after(fault.atMs - agenda.nowMs, life, 'backup is over', stop);
  };
  const atMs = Math.max(0, fault.atMs - (fault.amount ?? 0));
  agenda.after(atMs - agenda.nowMs, life, 'backup', save);
  return () => saved;
}

/** @returns ends it */
function saveWhileReserved(
  { store, keys }: Environment,
  random: SeededRandom,
  onSaved: (saved: SavedCell) => void,
): () => void {
  const { cell } = store;
  const isReserved = (): boolean => {
    const open = cell.list(keys.intents).map(({ value }) => intentCodec.decode(value));
    const ids = new Set(open.filter(({ state }) => state === 'open').map(({ id }) => id));
    if (ids.size === 0) return false;
    const members = cell.list(keys.allocations).map(({ value }) => allocationCodec.decode(value).intent);
    return members.some((intent) => intent !== undefined && ids.has(intent));
  };
  let seen = 0;
  return cell.listen('', () => {
    if (!isReserved()) return;
    seen += 1;
    if (random.below(seen) === 0) onSaved(cell.save());
  });
}
