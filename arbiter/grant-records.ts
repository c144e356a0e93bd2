import { makeId } from '../src/core/cell/ids.ts';
import type { Grant } from '../src/core/quota/grant.ts';
import { grantKey, recordedGrant } from '../src/core/quota/grant.ts';
import type { Compare, Write } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { RolePorts } from '../src/runtime/runtime.ts';
import { coveredNamespaceCodec, grantBatchCodec } from '../src/wire/records/records.ts';

export interface GrantRecordsDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock' | 'random' | 'log'> {
  readonly arbiter: string;
  /** The store says that another arbiter keeps the quotas. */
  readonly onReplaced: (fence: number) => void;
}

/** `refused`: surely not written; `unknown`: perhaps. */
type Outcome = 'recorded' | 'refused' | 'unknown';

interface Waiting {
  readonly fence: number;
  readonly id: string;
  readonly value: string;
  readonly answer: (outcome: Outcome) => void;
}

/** Batches and deletions in one write. A full batch is some 40 KB. */
const BATCHES_MAX = 16;
const DELETIONS_MAX = 64;

/**
 * Makes grants durable before their tickets go out, a batch for what one request was granted; what several requests want
 * goes into one write. Every write compares the keeper's key: a keeper that was replaced without knowing it writes nothing
 * any more, and so its successor finds in the store all that was ever granted.
 *
 * A batch is deleted, with the next write, when nothing of it is outstanding.
 */
export class GrantRecords {
  readonly #deps: GrantRecordsDeps;
  readonly #waiting: Waiting[] = [];
  #isWriting = false;
  /** What is outstanding of each batch that is, or may be, in the store. */
  readonly #open = new Map<string, Set<string>>();
  /** The batches that name a grant. */
  readonly #batchesOf = new Map<string, Set<string>>();
  /** Batches to be deleted; one that is not written yet, or is being written, waits. */
  readonly #ended = new Set<string>();
  readonly #unwritten = new Set<string>();
  #fence: number | null = null;

  constructor(deps: GrantRecordsDeps) {
    this.#deps = deps;
  }

  /** This arbiter keeps the quotas since that revision; what the store has of batches is to be adopted. */
  restart(fence: number): void {
    this.#fence = fence;
    this.#open.clear();
    this.#batchesOf.clear();
    this.#ended.clear();
  }

  /** Since when this arbiter keeps the quotas, as far as the store has not denied it. */
  get fence(): number | null {
    return this.#fence;
  }

  /**
   * @param fence when this arbiter became keeper, as of the decision
   * @returns false: no ticket may go out; what was perhaps written is deleted
   */
  async record(grants: readonly Grant[], fence: number | null): Promise<boolean> {
    if (fence === null) return false;
    const id = this.#newId();
    this.adopt(id, grants);
    this.#unwritten.add(id);
    const outcome = await new Promise<Outcome>((answer) => {
      this.#waiting.push({ fence, id, value: this.#encoded(grants), answer });
      void this.#write();
    });
    this.#unwritten.delete(id);
    if (outcome !== 'recorded') this.#drop(id);
    if (outcome === 'unknown') this.#ended.add(id);
    return outcome === 'recorded';
  }

  /** The batch is, or may be, in the store. */
  adopt(id: string, grants: readonly Grant[]): void {
    const keys = grants.map(({ host, id: allocation }) => grantKey(host, allocation));
    this.#open.set(id, new Set(keys));
    for (const key of keys) {
      const batches = this.#batchesOf.get(key);
      if (batches === undefined) this.#batchesOf.set(key, new Set([id]));
      else batches.add(id);
    }
  }

  /** Is it in a batch? */
  has(host: string, id: string): boolean {
    return this.#batchesOf.has(grantKey(host, id));
  }

  /** The grant is not outstanding any longer. */
  ended(key: string): void {
    for (const id of this.#batchesOf.get(key) ?? []) {
      const left = this.#open.get(id);
      left?.delete(key);
      if (left?.size !== 0) continue;
      this.#open.delete(id);
      this.#ended.add(id);
    }
    this.#batchesOf.delete(key);
  }

  /** Deletes what has ended, when no grant is written meanwhile. */
  flush(): void {
    if (this.#ended.size > 0 && this.#fence !== null) void this.#write();
  }

  /**
   * Says that every grant in the namespace that can still be used is recorded, and records these.
   * @param quotaRevision the revision that created the quota: later ones have to be covered anew
   * @returns is it so?
   */
  async cover(namespace: string, quotaRevision: number, grants: readonly Grant[]): Promise<boolean> {
    const { keys } = this.#deps;
    const fence = this.#fence;
    if (fence === null) return false;
    const value = coveredNamespaceCodec.encode({ quotaRevision });
    const writes: Write[] = [{ kind: 'put', key: keys.coveredNamespace(namespace), value }];
    if (grants.length > 0) {
      const id = this.#newId();
      this.adopt(id, grants);
      writes.push({ kind: 'put', key: keys.grantBatch(id), value: this.#encoded(grants) });
    }
    const isSame = {
      key: keys.quota(namespace),
      target: 'createRevision',
      equals: quotaRevision,
    } as const;
    return (await this.#attempt(fence, writes, [isSame])) === 'recorded';
  }

  /** The namespace has no quota any longer. */
  async uncover(namespace: string): Promise<void> {
    const key = this.#deps.keys.coveredNamespace(namespace);
    if (this.#fence !== null) await this.#attempt(this.#fence, [{ kind: 'delete', key }]);
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    // What is granted in the same turn of the event loop goes together.
    await Promise.resolve();
    do await this.#writeSome();
    while (this.#waiting.length > 0);
    this.#isWriting = false;
  }

  async #writeSome(): Promise<void> {
    const { keys } = this.#deps;
    const fence = this.#fence;
    const batches: Waiting[] = [];
    for (const waiting of this.#waiting.splice(0, BATCHES_MAX))
      if (waiting.fence === fence) batches.push(waiting);
      else waiting.answer('refused');
    const ended = [...this.#ended].filter((id) => !this.#unwritten.has(id)).slice(0, DELETIONS_MAX);
    const writes: Write[] = [
      ...batches.map(({ id, value }) => ({ kind: 'put', key: keys.grantBatch(id), value }) as const),
      ...ended.map((id) => ({ kind: 'delete', key: keys.grantBatch(id) }) as const),
    ];
    if (fence === null || writes.length === 0) return;
    const outcome = await this.#attempt(fence, writes);
    if (outcome === 'recorded') for (const id of ended) this.#ended.delete(id);
    for (const { answer } of batches) answer(outcome);
  }

  /** Never rejects for what may happen to a store. */
  async #attempt(fence: number, writes: readonly Write[], more: readonly Compare[] = []): Promise<Outcome> {
    const { store, keys, log, onReplaced } = this.#deps;
    const isKeeper = { key: keys.quotaKeeper, target: 'modRevision', equals: fence } as const;
    try {
      const reply = await store.attempt({
        compares: [isKeeper, ...more],
        writes,
        readBack: [keys.quotaKeeper],
      });
      if (reply.outcome === 'applied') return 'recorded';
      if (reply.outcome === 'unknown') return 'unknown';
      const isReplaced = reply.found.get(keys.quotaKeeper)?.modRevision !== fence;
      if (isReplaced && this.#fence === fence) {
        this.#fence = null;
        onReplaced(fence);
      }
      return 'refused';
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ error }, 'cannot write what is granted: nothing is granted against quotas');
      return 'refused';
    }
  }

  #drop(id: string): void {
    for (const key of this.#open.get(id) ?? []) {
      const batches = this.#batchesOf.get(key);
      batches?.delete(id);
      if (batches?.size === 0) this.#batchesOf.delete(key);
    }
    this.#open.delete(id);
  }

  #newId(): string {
    const { clock, random } = this.#deps;
    return makeId(clock.nowMs(), random.bytes(16));
  }

  #encoded(grants: readonly Grant[]): string {
    return grantBatchCodec.encode({ arbiter: this.#deps.arbiter, grants: grants.map(recordedGrant) });
  }
}
