import type { SavedCell } from '../../src/adapters/memory/cell.ts';
import { renewedMeta } from '../../src/runtime/records/cell-meta.ts';
import { metaCodec } from '../../src/wire/records/records.ts';
import { WALL_START_MS } from '../agenda/virtual-clock.ts';
import type { Environment } from '../actor/environment.ts';

/** More revisions than the calls under way can have made. */
const BUMP = 1_000;

/**
 * The store is down, and comes back as it was saved, or empty. Before any role reaches it, an operator renews the cell's record
 * (docs/restoring.md).
 * @param backup what it is restored from; null: everything is lost
 * @param how `anew`: it is another cluster, and its revisions go back; `bumped`: it keeps its id, and revisions continue past all that were
 *   seen; `gone-back`: it keeps its id, and revisions go back: the operator's mistake
 * @returns what ends it
 */
export function restoreStore(
  environment: Environment,
  backup: () => SavedCell | null,
  how: 'anew' | 'bumped' | 'gone-back',
): () => void {
  const { store, history } = environment;
  const undo = store.faults.override({ down: true });
  return () => {
    undo();
    const saved = backup();
    const bumped = how === 'bumped' ? { bumpedTo: store.cell.revision + BUMP } : {};
    const changes = store.restore(saved, { ...bumped, isSame: how !== 'anew' });
    history.restored({ revision: store.cell.revision, to: saved?.revision ?? null }, changes);
    renewCell(environment);
  };
}

/** As `moorage restored`. */
function renewCell({ store, keys, agenda, random }: Environment): void {
  const own = random.split(`restore ${String(store.generation)}`);
  const makeUuid = (): string => `restored-${own.bytes(8).join('')}`;
  const known = store.cell.get(keys.meta);
  const meta = known === undefined ? undefined : metaCodec.decode(known.value);
  const value = metaCodec.encode(
    renewedMeta(meta, { nowMs: Math.floor(WALL_START_MS + agenda.nowMs), makeUuid }),
  );
  store.apply('operator', {
    compares: [{ key: keys.meta, target: 'modRevision', equals: known?.modRevision ?? 0 }],
    writes: [{ kind: 'put', key: keys.meta, value }],
    readBack: [],
  });
}
