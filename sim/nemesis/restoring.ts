import type { Write } from '../../src/ports/cell-store.ts';
import { renewed } from '../../src/runtime/cell-meta.ts';
import { metaCodec } from '../../src/wire/records.ts';
import { WALL_START_MS } from '../kernel/virtual-clock.ts';
import type { Ground } from '../world/ground.ts';

/**
 * The store is away, and comes back as it was at an earlier revision, or empty; then an operator renews the cell's record.
 * @param toRevision null: everything is lost
 * @returns what ends it
 */
export function loseStore(
  { store, keys, history, agenda, random }: Ground,
  toRevision: number | null,
): () => void {
  const undo = store.weather.lay({ down: true });
  const leased = [keys.alive, keys.roles, keys.owners, keys.quotaKeeper];
  const makeUuid = (): string => `restored-${random.split('restore').bytes(8).join('')}`;
  const renew = (writes: readonly Write[]): readonly Write[] => {
    const known = toRevision === null ? undefined : store.cell.get(keys.meta);
    const meta = known === undefined ? undefined : metaCodec.decode(known.value);
    const value = metaCodec.encode(
      renewed(meta, { nowMs: Math.floor(WALL_START_MS + agenda.nowMs), makeUuid }),
    );
    return [...writes.filter(({ key }) => key !== keys.meta), { kind: 'put', key: keys.meta, value }];
  };
  return () => {
    undo();
    const revision = store.restore(toRevision, (key) => leased.some((room) => key.startsWith(room)), renew);
    history.restored({ revision, to: toRevision });
  };
}
