/**
 * Who did what. `audited.ts` wraps each route that changes the cell or enters a task: `acts.ts` says what such a request does,
 * and `audit.ts` writes it to the store before anything is done.
 */
import type { AuditRecord } from '../../src/core/access/audit.ts';
import { surplusRecords } from '../../src/core/access/audit.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { auditCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { refuse } from '../refusals.ts';

export interface AuditDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock' | 'random' | 'log'> {
  readonly self: string;
}

/** How often this monitor looks for records that are to go, and after how many of its own at the latest. */
const PRUNE_MS = 3_600_000;
const PRUNE_AFTER = 5_000;
/** In one transaction. */
const DELETES_MAX = 100;

export class Audit {
  readonly #deps: AuditDeps;
  readonly #stop: () => void;
  #written = 0;
  #pruning: Promise<void> | null = null;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, PRUNE_MS, () => void this.prune());
  }

  newId(): string {
    return makeId(this.#deps.clock.nowMs(), this.#deps.random.bytes(16));
  }

  /**
   * @returns when the record is durable
   * @throws StoreError, or ProblemError 503, when it may not be
   */
  async write(about: Omit<AuditRecord, 'atMs' | 'monitor'>): Promise<AuditRecord> {
    const { clock, self } = this.#deps;
    const record: AuditRecord = { ...about, atMs: clock.nowMs(), monitor: self };
    await this.#put(record);
    this.#written += 1;
    if (this.#written >= PRUNE_AFTER) void this.prune();
    return record;
  }

  /** Nothing was done. The record says so where that can be written; without it, it says too much. */
  async refused(record: AuditRecord, code: string): Promise<void> {
    try {
      await this.#put({ ...record, refused: code });
    } catch (error) {
      this.#deps.log.warn({ record, code, error }, 'what was refused stands in the audit as if it was done');
    }
  }

  /** The oldest first. */
  async list(): Promise<readonly AuditRecord[]> {
    const { store, keys, log } = this.#deps;
    const { entries } = await store.list(keys.audit);
    const inOrder = [...entries.values()].sort((a, b) => a.createRevision - b.createRevision);
    return inOrder.flatMap(({ key, value }) => {
      try {
        return [auditCodec.decode(value)];
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key, error }, 'a record cannot be read and is left out');
        return [];
      }
    });
  }

  /** Deletes what is too old or too much. */
  prune(): Promise<void> {
    return (this.#pruning ??= this.#prune().finally(() => {
      this.#pruning = null;
    }));
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#pruning;
  }

  async #prune(): Promise<void> {
    const { store, keys, clock, log } = this.#deps;
    this.#written = 0;
    try {
      const surplus = surplusRecords(await this.list(), clock.nowMs());
      for (let i = 0; i < surplus.length; i += DELETES_MAX) {
        const writes = surplus
          .slice(i, i + DELETES_MAX)
          .map(({ id }) => ({ kind: 'delete', key: keys.auditRecord(id) }) as const);
        await store.attempt({ compares: [], writes, readBack: [] });
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ error }, 'old records of the audit were not deleted; they are at the next look');
    }
  }

  async #put(record: AuditRecord): Promise<void> {
    const { store, keys } = this.#deps;
    const value = auditCodec.encode(record);
    const reply = await store.attempt({
      ...{ compares: [], readBack: [] },
      writes: [{ kind: 'put', key: keys.auditRecord(record.id), value }],
    });
    if (reply.outcome === 'unknown')
      throw refuse(
        503,
        'store-unavailable',
        'the store did not say whether the record of this was written; nothing was done',
      );
  }
}
