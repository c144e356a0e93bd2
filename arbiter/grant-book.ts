import type { Grant } from '../src/core/quota/grant.ts';
import { grantKey } from '../src/core/quota/grant.ts';
import type { StartTerms } from '../src/core/quota/ticket.ts';
import type { Instant } from '../src/runtime/reports/cell-view.ts';
import type { NamespaceAmounts } from '../src/core/quota/amounts.ts';
import { maxAmounts, NamespaceSums } from '../src/core/quota/amounts.ts';
import { TICKET_USABLE_MS } from './report-lag.ts';

/** At 2,000 starts a second all of them out for their full time; more is refused as `busy`. */
export const GRANTS_MAX = 100_000;

interface HeldGrant extends Grant {
  /** Nothing is freed before both clocks are past these by what reports take: the wall clock could be set forward. */
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
  readonly #running = new Map<string, HeldGrant>();
  /** Held until their host reports: past their end on one that is silent, or committed before this book was begun. */
  readonly #lingering = new Map<string, HeldGrant>();
  readonly #lagMs: () => number;
  readonly #onEnded: (key: string) => void;

  /**
   * @param lagMs what a host's report takes at most (`report-lag.ts`)
   * @param onEnded a grant is not held any longer
   */
  constructor(lagMs: () => number, onEnded: (key: string) => void) {
    this.#lagMs = lagMs;
    this.#onEnded = onEnded;
  }

  get size(): number {
    return this.#running.size + this.#lingering.size;
  }

  granted(namespace: string): NamespaceAmounts {
    return this.#sums.get(namespace);
  }

  namespaces(): IterableIterator<string> {
    return this.#sums.names();
  }

  /** What is held in the namespace. */
  of(namespace: string): readonly Grant[] {
    return [...this.#running.values(), ...this.#lingering.values()].filter(
      (grant) => grant.namespace === namespace,
    );
  }

  /** What is already held for this very allocation: at most one of its tickets can be used. */
  heldFor(terms: StartTerms): NamespaceAmounts | null {
    return this.#find(grantKey(terms.aud, terms.claim.id))?.amounts ?? null;
  }

  hold(grant: Grant, now: Instant): void {
    const key = grantKey(grant.host, grant.id);
    const before = this.#find(key);
    if (before !== undefined) this.#drop(key, before);
    const amounts = before === undefined ? grant.amounts : maxAmounts(before.amounts, grant.amounts);
    this.#put(this.#running, { ...grant, amounts }, now, TICKET_USABLE_MS);
  }

  /** Another arbiter granted it, no later than now: held as long as if it had been granted now. */
  adopt(grant: Grant, now: Instant): void {
    if (this.#find(grantKey(grant.host, grant.id)) === undefined) this.hold(grant, now);
  }

  /** It is committed, and its host may have begun it already: held until that host reports, at least as long as reports take. */
  inherit(grant: Grant, now: Instant): void {
    if (this.#find(grantKey(grant.host, grant.id)) === undefined) this.#put(this.#lingering, grant, now, 0);
  }

  /** The host reported the allocation, or its ticket was never handed out. */
  settle(host: string, id: string): void {
    const key = grantKey(host, id);
    const grant = this.#find(key);
    if (grant !== undefined) this.#end(key, grant);
  }

  sweep(now: Instant, reachability: HostReachability): void {
    const lagMs = this.#lagMs();
    const isPast = ({ endMonotonicMs, endWallMs }: HeldGrant): boolean =>
      now.monotonicMs >= endMonotonicMs + lagMs && now.wallMs >= endWallMs + lagMs;
    for (const [key, grant] of this.#running) {
      if (!isPast(grant)) break;
      this.#running.delete(key);
      this.#lingering.set(key, grant);
    }
    for (const [key, grant] of this.#lingering)
      if (isPast(grant) && reachability(grant.host) !== 'silent') this.#end(key, grant);
  }

  #put(where: Map<string, HeldGrant>, grant: Grant, now: Instant, usableMs: number): void {
    where.set(grantKey(grant.host, grant.id), {
      ...grant,
      endMonotonicMs: now.monotonicMs + usableMs,
      endWallMs: now.wallMs + usableMs,
    });
    this.#sums.change(grant.namespace, grant.amounts, 1);
  }

  #find(key: string): HeldGrant | undefined {
    return this.#running.get(key) ?? this.#lingering.get(key);
  }

  #end(key: string, grant: HeldGrant): void {
    this.#drop(key, grant);
    this.#onEnded(key);
  }

  #drop(key: string, grant: HeldGrant): void {
    this.#running.delete(key);
    this.#lingering.delete(key);
    this.#sums.change(grant.namespace, grant.amounts, -1);
  }
}
