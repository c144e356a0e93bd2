import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Change } from '../../../src/ports/cell-store.ts';
import type { ActorKind } from '../../history/facts.ts';
import type { Stamped } from '../../history/history.ts';
import type { RevisionFact } from '../../history/store-facts.ts';
import type { Findings } from '../replay/violations.ts';

interface Rule {
  readonly prefix: string;
  readonly roles: readonly ActorKind[];
  /** The key names its owner: only the actor of that name may write it. */
  readonly own?: boolean;
  readonly operator?: boolean;
}

/**
 * I7, with the writer itself as the witness: each key changes only by a role that owns it (docs/etcd-keys.md), and what
 * bears an actor's name only by that actor. A null actor is the end of a session, which only deletes.
 */
export class WriterChecker {
  readonly #rules: readonly Rule[];
  readonly #roles: ReadonlyMap<string, ActorKind>;
  readonly #root: string;

  constructor(keys: CellKeys, roles: ReadonlyMap<string, ActorKind>) {
    this.#roles = roles;
    this.#root = keys.root;
    this.#rules = [
      { prefix: keys.allocations, roles: ['scheduler', 'monitor'] },
      { prefix: keys.ledgers, roles: ['scheduler', 'monitor'] },
      { prefix: keys.pools, roles: ['scheduler', 'monitor'] },
      { prefix: keys.outcomes, roles: ['scheduler', 'monitor'] },
      { prefix: keys.intents, roles: ['scheduler', 'monitor'] },
      { prefix: keys.owners, roles: ['scheduler'] },
      { prefix: keys.alive, roles: ['agent'], own: true },
      { prefix: keys.hosts, roles: ['agent'], own: true },
      { prefix: keys.eligibility, roles: ['monitor'] },
      { prefix: keys.jobs, roles: ['monitor'] },
      { prefix: keys.versions, roles: ['monitor'] },
      { prefix: keys.runs, roles: ['monitor'] },
      ...(['scheduler', 'monitor', 'arbiter', 'agent'] as const).map((role) => ({
        prefix: `${keys.roles}${role}/`,
        roles: [role],
        own: true,
      })),
      { prefix: keys.quotaKeeper, roles: ['arbiter'] },
      { prefix: keys.grants, roles: ['arbiter'] },
      // An operator writes them by hand, and a test world is one.
      { prefix: keys.limits, roles: ['client', 'monitor'], operator: true },
      { prefix: keys.meta, roles: ['scheduler', 'monitor', 'arbiter', 'agent', 'client'], operator: true },
    ];
  }

  check({ fact }: Stamped<RevisionFact>, findings: Findings): void {
    for (const change of fact.changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      if (!key.startsWith(this.#root)) continue;
      const wrong = this.#wrong(key, change, fact.actor);
      if (wrong !== null) findings.add('I7', fact.revision, key, wrong);
    }
  }

  #wrong(key: string, change: Change, actor: string | null): string | null {
    const rule = this.#rules.find(({ prefix }) => key.startsWith(prefix));
    if (rule === undefined) return 'no role owns this key';
    if (actor === null) return change.kind === 'delete' ? null : 'written by the end of a session';
    if (rule.operator === true && actor === 'operator') return null;
    const role = this.#roles.get(actor);
    if (role === undefined || !rule.roles.includes(role))
      return `${change.kind} by ${actor}, ${role === undefined ? 'of no role' : `a ${role}`}`;
    if (rule.own === true && key.slice(rule.prefix.length) !== actor)
      return `${change.kind} by ${actor}, which does not own it`;
    return null;
  }
}
