import type { StoreArea } from '../../../src/core/access/store-rights.ts';
import { STORE_USERS, storeAreas, writersOf } from '../../../src/core/access/store-rights.ts';
import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Change } from '../../../src/ports/cell-store.ts';
import type { ActorKind } from '../../history/facts.ts';
import type { Stamped } from '../../history/history.ts';
import type { RevisionFact } from '../../history/store-facts.ts';
import type { Findings } from '../replay/violations.ts';

/** Who else writes in a world than the table says. */
interface Exception {
  readonly prefix: string;
  readonly roles: readonly ActorKind[];
}

/**
 * I7, with the writer itself as the witness: each key changes only by a role that owns it (docs/etcd-keys.md), and what
 * bears an actor's name only by that actor. A null actor is the end of a session, which only deletes.
 */
export class WriterChecker {
  readonly #areas: readonly StoreArea[];
  readonly #exceptions: readonly Exception[];
  readonly #roles: ReadonlyMap<string, ActorKind>;
  readonly #root: string;
  readonly #arbiters: string;

  constructor(keys: CellKeys, roles: ReadonlyMap<string, ActorKind>) {
    this.#roles = roles;
    this.#root = keys.root;
    this.#arbiters = keys.arbiters;
    this.#areas = storeAreas(keys);
    this.#exceptions = [
      // An operator writes them by hand, and a test world is one.
      { prefix: keys.limits, roles: ['client'] },
      { prefix: keys.remedies, roles: [] },
      // Where the store has no users, the first role that comes makes the cell.
      { prefix: keys.meta, roles: [...STORE_USERS, 'client'] },
    ];
  }

  check({ fact }: Stamped<RevisionFact>, findings: Findings): void {
    for (const change of fact.changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      if (!key.startsWith(this.#root) && !key.startsWith(this.#arbiters)) continue;
      const wrong = this.#wrong(key, change, fact.actor);
      if (wrong !== null) findings.add('I7', fact.revision, key, wrong);
    }
  }

  #wrong(key: string, change: Change, actor: string | null): string | null {
    const area = this.#areas.find(({ prefix }) => key.startsWith(prefix));
    const exception = this.#exceptions.find(({ prefix }) => key.startsWith(prefix));
    const writers: readonly ActorKind[] = [
      ...(writersOf(this.#areas, key) ?? []),
      ...(exception?.roles ?? []),
    ];
    if (area === undefined || writers.length === 0) return 'no role owns this key';
    if (actor === null) return change.kind === 'delete' ? null : 'written by the end of a session';
    if (exception !== undefined && actor === 'operator') return null;
    const role = this.#roles.get(actor);
    if (role === undefined || !writers.includes(role))
      return `${change.kind} by ${actor}, ${role === undefined ? 'of no role' : `a ${role}`}`;
    if (area.own === role && key.slice(area.prefix.length) !== actor)
      return `${change.kind} by ${actor}, which does not own it`;
    return null;
  }
}
