import type { Attempt, AttemptReply, Change, Snapshot } from '../../src/ports/cell-store.ts';

/** One revision of the store, as the store itself made it: the state witness. */
export interface RevisionFact {
  /** How often the store had been restored: revisions of another generation may come before or after, or be the same. */
  readonly generation: number;
  readonly revision: number;
  /** The writer: an actor's name; null when a session ended. */
  readonly actor: string | null;
  readonly changes: readonly Change[];
  /** The attempt that made it; null when the end of a session did. */
  readonly attempt: Attempt | null;
  /** When its writer asked for it: what it knew was no newer. null: a session ended, or that is not known. */
  readonly askedAtMs: number | null;
  /** The store was restored: it is at this revision now, and differs by these changes from what it was. */
  readonly isRestore: boolean;
}

/** The store became an older one of itself, or empty. */
export interface RestoreFact {
  /** That begins with it. */
  readonly generation: number;
  /** Where the store is now: that of the snapshot, or one past all that was ever seen. */
  readonly revision: number;
  /** At which the snapshot was saved; null: all was lost. */
  readonly to: number | null;
}

/**
 * One call that went through the store, as its caller saw it. `generation` is the store's when it answered. `from` and `to` are stamps of the call and of its answer:
 * what was answered before something was asked came before it in real time. `atMs` is the true time of the answer.
 */
export type StoreCall =
  | {
      readonly kind: 'attempt';
      readonly actor: string;
      readonly generation: number;
      readonly from: number;
      readonly to: number;
      readonly atMs: number;
      readonly attempt: Attempt;
      readonly reply: AttemptReply;
    }
  | {
      /** Keys or a range; a read of the past is left out. `keys` are those that were asked for, null for a prefix. */
      readonly kind: 'read';
      readonly actor: string;
      readonly generation: number;
      readonly from: number;
      readonly to: number;
      readonly atMs: number;
      readonly keys: readonly string[] | null;
      readonly prefix: string | null;
      readonly snapshot: Snapshot;
    };

/** The revision of a reply; null when it has none. */
export function revisionOf(call: StoreCall): number | null {
  if (call.kind === 'read') return call.snapshot.revision;
  return call.reply.outcome === 'unknown' ? null : call.reply.revision;
}
