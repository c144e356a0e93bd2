/**
 * What the checkers stand on.
 *
 * - This file plays the store's revisions and keeps the cell as it was at each, decoded.
 * - `run-index.ts`: the facts of a run by allocation, job, host and process; `departures.ts`: when an allocation had left its host
 * - `clock-faults.ts`: whose clocks were set; `disturbed-times.ts`: when there were faults; `delivery-deadline.ts`: until when a client must have been told
 * - `violations.ts`: what the checkers found
 */
import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Change } from '../../../src/ports/cell-store.ts';
import { RecordError } from '../../../src/wire/wire.ts';
import {
  allocationCodec,
  coveredNamespaceCodec,
  eligibilityCodec,
  grantBatchCodec,
  hostCodec,
  intentCodec,
  jobCodec,
  ledgerCodec,
  metaCodec,
  outcomeCodec,
  ownerCodec,
  pauseCodec,
  poolCodec,
  quotaCodec,
  roleCodec,
  rolloutCodec,
  runCodec,
  sharedResourceCodec,
} from '../../../src/wire/records/records.ts';
import { bucketCodec, budgetPolicyCodec } from '../../../src/wire/budgets/budget-records.ts';
import { remedyPolicyCodec, verdictCodec } from '../../../src/wire/verdicts/verdict-records.ts';

/** One key's change, decoded. Both absent cannot be; `after` absent: deleted. */
export interface Diff<T> {
  readonly key: string;
  /** The key without its prefix: `default/web/01j...`. */
  readonly name: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** How each kind of record in a cell is encoded. The busiest first: most keys of a history are allocations and ledgers. */
export const RECORD_CODECS = {
  allocations: allocationCodec,
  ledgers: ledgerCodec,
  pools: poolCodec,
  outcomes: outcomeCodec,
  intents: intentCodec,
  owners: ownerCodec,
  jobs: jobCodec,
  versions: jobCodec,
  rollouts: rolloutCodec,
  runs: runCodec,
  hosts: hostCodec,
  eligibility: eligibilityCodec,
  roles: roleCodec,
  quotas: quotaCodec,
  grantBatches: grantBatchCodec,
  coveredNamespaces: coveredNamespaceCodec,
  pauses: pauseCodec,
  verdicts: verdictCodec,
  remedies: remedyPolicyCodec,
  budgets: budgetPolicyCodec,
  buckets: bucketCodec,
  shared: sharedResourceCodec,
  meta: metaCodec,
};
export type RecordKind = keyof typeof RECORD_CODECS;
export type Records = { readonly [K in RecordKind]: ReturnType<(typeof RECORD_CODECS)[K]['decode']> };

const KINDS = Object.keys(RECORD_CODECS) as readonly RecordKind[];

/** All that one revision changed. */
export interface Step {
  readonly revision: number;
  /** The state at the beginning of the recorded history, all at once: who wrote it when is not known. */
  readonly initial: boolean;
  readonly changed: { readonly [R in RecordKind]: readonly Diff<Records[R]>[] };
  readonly unreadable: readonly { readonly key: string; readonly error: RecordError }[];
}

/** The whole cell at one revision, decoded, by kind and name. */
export type CellAt = { readonly [R in RecordKind]: ReadonlyMap<string, Records[R]> };

/**
 * Plays a recorded history: applies one revision's changes after the other and keeps the cell as it was then. Other keys
 * (heartbeats) are passed over. A record that cannot be decoded counts as absent, and is reported.
 */
export class CellReplay {
  readonly #prefixes: Readonly<Record<RecordKind, string>>;
  readonly #records = byKind(() => new Map<string, never>()) as unknown as {
    [R in RecordKind]: Map<string, Records[R]>;
  };

  constructor(keys: CellKeys) {
    this.#prefixes = byKind((kind) => (kind === 'quotas' ? keys.quota('') : keys[kind]));
  }

  get cell(): CellAt {
    return this.#records;
  }

  apply(revision: number, changes: readonly Change[], initial = false): Step {
    const changed = byKind(() => [] as never[]) as unknown as { [R in RecordKind]: Diff<Records[R]>[] };
    const unreadable: { key: string; error: RecordError }[] = [];
    for (const change of changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      const kind = this.#kindOf(key);
      if (kind === null) continue;
      const value = change.kind === 'put' ? change.entry.value : null;
      try {
        const diff = this.#change(kind, key, value);
        if (diff !== null) (changed[kind] as unknown[]).push(diff);
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        unreadable.push({ key, error });
        this.#records[kind].delete(key.slice(this.#prefixes[kind].length));
      }
    }
    return { revision, initial, changed, unreadable };
  }

  #kindOf(key: string): RecordKind | null {
    for (const kind of KINDS) if (key.startsWith(this.#prefixes[kind])) return kind;
    return null;
  }

  #change<R extends RecordKind>(kind: R, key: string, text: string | null): Diff<Records[R]> | null {
    const rows = this.#records[kind];
    const name = key.slice(this.#prefixes[kind].length);
    const before = rows.get(name);
    const after = text === null ? undefined : (RECORD_CODECS[kind].decode(text) as Records[R]);
    if (after === undefined) rows.delete(name);
    else rows.set(name, after);
    return before === undefined && after === undefined ? null : { key, name, before, after };
  }
}

function byKind<T>(make: (kind: RecordKind) => T): Record<RecordKind, T> {
  return Object.fromEntries(KINDS.map((kind) => [kind, make(kind)])) as Record<RecordKind, T>;
}
