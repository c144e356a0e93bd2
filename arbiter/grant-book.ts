import type { Claim } from '../src/core/cell/claim.ts';
import type { StartTerms } from '../src/core/quota/ticket.ts';
import { CLOCK_TOLERANCE_MS, TICKET_TTL_MS } from '../src/core/quota/ticket.ts';
import type { Instant } from '../src/runtime/reports/cell-view.ts';
import type { NamespaceAmounts } from '../src/core/quota/amounts.ts';
import { amountsOf, maxAmounts, NamespaceSums } from '../src/core/quota/amounts.ts';

/**
 * A host that started something at the last moment reports it within this time, or counts as silent: three of its beats until
 * a monitor calls it silent, and as much for the monitor's own stream.
 */
export const REPORT_LAG_MS = 6_000;

/** From the grant until its use is visible, if there is any. */
export const GRANT_HELD_MS = TICKET_TTL_MS + CLOCK_TOLERANCE_MS + REPORT_LAG_MS;

/** At 2,000 starts a second all of them out for their full time; more is refused as `busy`. */
export const GRANTS_MAX = 100_000;

interface Grant {
  readonly namespace: string;
  readonly host: string;
  readonly amounts: NamespaceAmounts;
  /** Nothing is freed before both clocks are past these: the wall clock could be set forward. */
  readonly endMonotonicMs: number;
  readonly endWallMs: number;
}

/** `reporting`: its reports are current. `silent`: it may run what it has not reported. `unknown`: not of this cell. */
export type HostReachability = (host: string) => 'reporting' | 'silent' | 'unknown';

/**
 * What was granted and is not yet reported as used. A grant is held by host and allocation, and leaves exactly once: when the
 * host's report of the allocation comes (from then on that counts), or when its ticket can no longer have been used without
 * a report (I41).
 */
export class GrantBook {
  readonly #sums = new NamespaceSums();
  /** In the order of their end, since every grant is held equally long. */
  readonly #running = new Map<string, Grant>();
  /** Past their end on a host that is silent. */
  readonly #lingering = new Map<string, Grant>();

  get size(): number {
    return this.#running.size + this.#lingering.size;
  }

  granted(namespace: string): NamespaceAmounts {
    return this.#sums.get(namespace);
  }

  namespaces(): IterableIterator<string> {
    return this.#sums.names();
  }

  /** What is already held for this very allocation: at most one of its tickets can be used. */
  heldFor(terms: StartTerms): NamespaceAmounts | null {
    return this.#find(keyOf(terms.aud, terms.claim.id))?.amounts ?? null;
  }

  hold(terms: StartTerms, now: Instant): void {
    const key = keyOf(terms.aud, terms.claim.id);
    const before = this.#find(key);
    const asked = amountsOf(terms.claim);
    if (before !== undefined) this.#drop(key, before);
    const amounts = before === undefined ? asked : maxAmounts(before.amounts, asked);
    this.#running.set(key, {
      namespace: terms.namespace,
      host: terms.aud,
      amounts,
      endMonotonicMs: now.monotonicMs + GRANT_HELD_MS,
      endWallMs: now.wallMs + GRANT_HELD_MS,
    });
    this.#sums.change(terms.namespace, amounts, 1);
  }

  /** Another arbiter may have granted it, and it may run on a silent host: held until that host reports. */
  inherit(namespace: string, claim: Claim): void {
    const key = keyOf(claim.host, claim.id);
    if (this.#find(key) !== undefined) return;
    const amounts = amountsOf(claim);
    this.#lingering.set(key, { namespace, host: claim.host, amounts, endMonotonicMs: 0, endWallMs: 0 });
    this.#sums.change(namespace, amounts, 1);
  }

  /** The host reported the allocation, or its ticket was never handed out. */
  settle(host: string, id: string): void {
    const key = keyOf(host, id);
    const grant = this.#find(key);
    if (grant !== undefined) this.#drop(key, grant);
  }

  sweep(now: Instant, reachability: HostReachability): void {
    for (const [key, grant] of this.#running) {
      if (now.monotonicMs < grant.endMonotonicMs || now.wallMs < grant.endWallMs) break;
      this.#running.delete(key);
      this.#lingering.set(key, grant);
    }
    for (const [key, grant] of this.#lingering)
      if (reachability(grant.host) !== 'silent') this.#drop(key, grant);
  }

  #find(key: string): Grant | undefined {
    return this.#running.get(key) ?? this.#lingering.get(key);
  }

  #drop(key: string, grant: Grant): void {
    this.#running.delete(key);
    this.#lingering.delete(key);
    this.#sums.change(grant.namespace, grant.amounts, -1);
  }
}

function keyOf(host: string, id: string): string {
  return `${host}/${id}`;
}
