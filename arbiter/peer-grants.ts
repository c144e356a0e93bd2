import type { Outcome } from '../src/core/cell/allocation.ts';
import type { Grant } from '../src/core/quota/grant.ts';
import { grantFrom, grantKey, grantOf } from '../src/core/quota/grant.ts';
import type { Entry } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import { decodeOrSkip } from '../src/runtime/records/records.ts';
import type { Instant } from '../src/runtime/reports/cell-view.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { RecordError } from '../src/wire/wire.ts';
import {
  allocationCodec,
  coveredNamespaceCodec,
  grantBatchCodec,
  outcomeCodec,
} from '../src/wire/records/records.ts';
import type { GrantBook } from './grant-book.ts';
import type { GrantRecords } from './grant-records.ts';
import type { OtherArbiters } from './other-arbiters.ts';
import { TICKET_USABLE_MS } from './report-lag.ts';

export interface PeerGrantsDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock' | 'log'> {
  readonly book: GrantBook;
  readonly records: GrantRecords;
  /** Namespaces with a quota. */
  readonly namespaces: () => Iterable<string>;
  /** The revision that created the namespace's quota; null: it has none that can be read. */
  readonly quotaRevision: (namespace: string) => number | null;
  /** A host reports the allocation. */
  readonly isReported: (host: string, id: string) => boolean;
  readonly now: () => Instant;
  readonly others: Pick<OtherArbiters, 'areNone' | 'areDone' | 'expiredMs' | 'usableUntilMs'>;
  /** What a host's report takes at most. */
  readonly lagMs: () => number;
}

/** What the store has is read within about this time. */
const READ_SOON_MS = 200;
/** More than this many unrecorded grants are not recorded together: they are waited for. */
const RECORDED_TOGETHER_MAX = 1_000;

/**
 * What a new keeper must know of grants that it has not given itself. For each namespace with a quota:
 *
 *   unknown → the batches are read → (not covered: its unrecorded grants may be used) → what is committed is read → known
 *
 * A namespace is covered when every grant in it that can still be used is in a batch: since its quota began, the keeper
 * records what it grants, and others grant nothing there. Before a namespace's first quota every arbiter grants in it and
 * nothing is recorded; so a new quota counts when those grants have been used or have expired.
 *
 * Nothing starts before its allocation is committed. So what is committed and not reported counts as granted, wherever it is:
 * it may be about to start, or run on a host that is cut off. What is recorded, ran and has an outcome has ended.
 */
export class PeerGrants {
  readonly #deps: PeerGrantsDeps;
  /** Since when this arbiter keeps the quotas; null: it does not. */
  #fence: number | null = null;
  #isLoading = false;
  #isLoaded = false;
  #isAsking = false;
  /** The quotas that are covered, by namespace, as the store has it. */
  readonly #covered = new Map<string, number>();
  /** Until when tickets for unrecorded grants of the time before its quota may be used, by monotonic time. */
  readonly #untilIn = new Map<string, number>();
  readonly #known = new Set<string>();
  readonly #reading = new Set<string>();
  /** What hosts forgot while something is being read: it had ended, though it was read. */
  readonly #forgotten = new Set<string>();

  constructor(deps: PeerGrantsDeps) {
    this.#deps = deps;
  }

  /** This arbiter keeps the quotas from now on: nothing is known of what its predecessors granted. */
  restart(fence: number): void {
    this.#fence = fence;
    this.#isLoaded = false;
    this.#known.clear();
    this.#covered.clear();
    this.#deps.records.restart(fence);
    this.sweep();
  }

  /** The namespace has a new quota: until now every arbiter could grant in it. */
  wait(namespace: string): void {
    const { others, clock } = this.#deps;
    this.#known.delete(namespace);
    this.#covered.delete(namespace);
    if (others.areNone) this.#untilIn.set(namespace, others.usableUntilMs);
    else this.#untilIn.set(namespace, clock.monotonicMs() + TICKET_USABLE_MS);
    this.sweep();
  }

  /** The namespace has no quota any longer. */
  drop(namespace: string): void {
    this.#known.delete(namespace);
    this.#untilIn.delete(namespace);
    if (this.#covered.delete(namespace)) void this.#deps.records.uncover(namespace);
  }

  /** A host has forgotten the allocation: it has ended. */
  forgotten(host: string, id: string): void {
    if (this.#reading.size > 0) this.#forgotten.add(grantKey(host, id));
  }

  /** How long to wait before anything may be granted in the namespace; 0: nothing is unknown. */
  holdMs(namespace: string): number {
    // On a quota that cannot be read nothing is granted at all.
    if (this.#known.has(namespace) || this.#deps.quotaRevision(namespace) === null) return 0;
    return Math.max(READ_SOON_MS, this.#waitMs(namespace));
  }

  /** Reads what is not known yet and can be known by now. */
  sweep(): void {
    if (this.#fence === null || this.#deps.records.fence !== this.#fence) return;
    if (!this.#isLoaded) return void this.#load(this.#fence);
    for (const namespace of this.#deps.namespaces()) {
      if (this.#known.has(namespace) || this.#reading.has(namespace)) continue;
      if (this.#waitMs(namespace) === 0) void this.#read(namespace, this.#fence);
      else void this.#askOthers(namespace);
    }
  }

  /** Ends the wait for what others granted before the quota, when they say that it is over. */
  async #askOthers(namespace: string): Promise<void> {
    const { others, clock } = this.#deps;
    const untilMs = this.#untilIn.get(namespace);
    if (this.#isAsking || clock.monotonicMs() < others.expiredMs) return;
    this.#isAsking = true;
    const areDone = await others.areDone(namespace);
    this.#isAsking = false;
    // One whose life ended meanwhile is not heard any more, and a later quota is another one.
    const isSame = clock.monotonicMs() >= others.expiredMs && this.#untilIn.get(namespace) === untilMs;
    if (!areDone || !isSame) return;
    this.#untilIn.delete(namespace);
    this.sweep();
  }

  #waitMs(namespace: string): number {
    const untilMs = this.#untilIn.get(namespace);
    if (untilMs === undefined) return 0;
    const { clock, lagMs } = this.#deps;
    return Math.ceil(Math.max(0, untilMs + lagMs() - clock.monotonicMs()));
  }

  /** Never rejects: what fails is tried again with the next sweep. */
  async #load(fence: number): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const { store, keys } = this.#deps;
    await this.#tolerantly(async () => {
      const { entries } = await store.list(keys.grants);
      if (this.#fence !== fence) return;
      const isWhole = [...entries.values()].every((entry) => this.#take(entry));
      for (const namespace of this.#deps.namespaces())
        if (!isWhole) this.#mustWait(namespace);
        else if (this.#isCovered(namespace)) this.#untilIn.delete(namespace);
      this.#isLoaded = true;
    });
    this.#isLoading = false;
    if (this.#isLoaded) this.sweep();
  }

  #mustWait(namespace: string): void {
    const fullMs = this.#deps.clock.monotonicMs() + TICKET_USABLE_MS;
    this.#untilIn.set(namespace, Math.max(fullMs, this.#untilIn.get(namespace) ?? 0));
  }

  #isCovered(namespace: string): boolean {
    const revision = this.#deps.quotaRevision(namespace);
    return revision !== null && this.#covered.get(namespace) === revision;
  }

  /** @returns false: nobody knows what it says */
  #take({ key, value }: Entry): boolean {
    const { keys, log } = this.#deps;
    const onBadRecord = (error: RecordError): void =>
      log.error({ key, error }, 'a record of grants cannot be read: its grants are waited for');
    if (key.startsWith(keys.coveredNamespaces)) {
      const covered = decodeOrSkip(coveredNamespaceCodec, value, onBadRecord);
      if (covered !== null)
        this.#covered.set(key.slice(keys.coveredNamespaces.length), covered.quotaRevision);
      return true;
    }
    const batch = decodeOrSkip(grantBatchCodec, value, onBadRecord);
    if (batch === null) return false;
    this.#adopt(key.slice(keys.grantBatches.length), batch.grants.map(grantFrom));
    return true;
  }

  #adopt(batch: string, grants: readonly Grant[]): void {
    const { book, records, isReported, now } = this.#deps;
    records.adopt(batch, grants);
    for (const grant of grants)
      if (isReported(grant.host, grant.id)) records.ended(grantKey(grant.host, grant.id));
      else book.adopt(grant, now());
  }

  /** Never rejects: what fails is tried again with the next sweep. */
  async #read(namespace: string, fence: number): Promise<void> {
    const { store, keys, book, records, quotaRevision, now } = this.#deps;
    const revision = quotaRevision(namespace);
    if (revision === null) return;
    const isCurrent = (): boolean =>
      this.#fence === fence && this.#waitMs(namespace) === 0 && quotaRevision(namespace) === revision;
    this.#reading.add(namespace);
    await this.#tolerantly(async () => {
      const { entries } = await store.list(`${keys.allocations}${namespace}/`);
      if (!isCurrent()) return;
      const committed = new Set<string>();
      for (const { value } of entries.values()) {
        const allocation = allocationCodec.decode(value);
        const grant = grantOf(namespace, allocation.job, allocation);
        committed.add(grantKey(grant.host, grant.id));
        if (this.#mayBeUsed(grant)) book.inherit(grant, now());
      }
      const open = book.of(namespace).filter(({ host, id }) => !committed.has(grantKey(host, id)));
      await this.#settleEnded(open);
      if (!isCurrent() || !(await this.#cover(namespace, revision)) || !isCurrent()) return;
      this.#known.add(namespace);
      records.flush();
    });
    this.#reading.delete(namespace);
    if (this.#reading.size === 0) this.#forgotten.clear();
  }

  #mayBeUsed({ host, id }: Grant): boolean {
    return !this.#deps.isReported(host, id) && !this.#forgotten.has(grantKey(host, id));
  }

  /** Of what is not committed, what ran to its end was used, and is over. */
  async #settleEnded(open: readonly Grant[]): Promise<void> {
    if (open.length === 0) return;
    const { store, keys, book } = this.#deps;
    const keyOf = ({ namespace, job, id }: Grant): string => keys.outcome(namespace, job, id);
    const { entries } = await store.read(open.map(keyOf));
    for (const grant of open) {
      const entry = entries.get(keyOf(grant));
      if (entry !== undefined && hasEnded(outcomeCodec.decode(entry.value)))
        book.settle(grant.host, grant.id);
    }
  }

  async #cover(namespace: string, revision: number): Promise<boolean> {
    if (this.#isCovered(namespace)) return true;
    const { book, records } = this.#deps;
    const unrecorded = book.of(namespace).filter(({ host, id }) => !records.has(host, id));
    if (unrecorded.length > RECORDED_TOGETHER_MAX) {
      this.#mustWait(namespace);
      return false;
    }
    if (!(await records.cover(namespace, revision, unrecorded))) return false;
    this.#covered.set(namespace, revision);
    return true;
  }

  async #tolerantly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof StoreError) && !(error instanceof RecordError)) throw error;
      this.#deps.log.warn({ error }, 'cannot read what was granted: nothing is granted against quotas yet');
    }
  }
}

/** Did it run, and did its host say that it has ended? Of anything else the ticket may still be used. */
function hasEnded({ startedAtMs, state }: Outcome): boolean {
  return startedAtMs !== undefined && state !== 'lost';
}
