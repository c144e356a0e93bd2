/**
 * What the checkers stand on.
 *
 * - This file plays the store's revisions and keeps the cell as it was at each, decoded.
 * - `run-index.ts`: the facts of a run by allocation, job, host and process; `departures.ts`: when an allocation had left its host
 * - `clock-faults.ts`: whose clocks were set; `delivery-deadline.ts`: until when a client must have been told
 * - `violations.ts`: what the checkers found
 */
import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import type { CellMeta } from '../../../src/core/core.ts';
import type { Eligibility, Host } from '../../../src/core/host/host.ts';
import type { Intent } from '../../../src/core/cell/intent.ts';
import type { JobRecord } from '../../../src/core/cell/job.ts';
import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Ledger } from '../../../src/core/fit/ledger.ts';
import type { Quota, Switches } from '../../../src/core/quota/quota.ts';
import type { Owner, RoleRecord } from '../../../src/core/cell/cell.ts';
import type { Pool, SharedResource } from '../../../src/core/quota/shared-resource.ts';
import type { Change } from '../../../src/ports/cell-store.ts';
import type { Codec } from '../../../src/wire/wire.ts';
import { RecordError } from '../../../src/wire/wire.ts';
import type { RunRecord } from '../../../src/wire/records/records.ts';
import {
  allocationCodec,
  eligibilityCodec,
  hostCodec,
  intentCodec,
  jobCodec,
  ledgerCodec,
  metaCodec,
  outcomeCodec,
  ownerCodec,
  poolCodec,
  quotaCodec,
  roleCodec,
  runCodec,
  sharedResourceCodec,
  switchesCodec,
} from '../../../src/wire/records/records.ts';

/** One key's change, decoded. Both absent cannot be; `after` absent: deleted. */
export interface Diff<T> {
  readonly key: string;
  /** The key without its prefix: `default/web/01j...`. */
  readonly name: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** The kinds of records in a cell, each under a prefix of its own. */
export interface Records {
  readonly meta: CellMeta;
  readonly hosts: Host;
  readonly eligibility: Eligibility;
  readonly ledgers: Ledger;
  readonly allocations: Allocation;
  readonly jobs: JobRecord;
  readonly versions: JobRecord;
  readonly owners: Owner;
  readonly outcomes: Outcome;
  readonly intents: Intent;
  readonly runs: RunRecord;
  readonly roles: RoleRecord;
  readonly quotas: Quota;
  readonly switches: Switches;
  readonly shared: SharedResource;
  readonly pools: Pool;
}
export type RecordKind = keyof Records;

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
    this.#prefixes = prefixesOf(keys);
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
    const after = text === null ? undefined : RECORD_CODECS[kind].decode(text);
    if (after === undefined) rows.delete(name);
    else rows.set(name, after);
    return before === undefined && after === undefined ? null : { key, name, before, after };
  }
}

/** The busiest first: most keys of a history are allocations and ledgers. */
const KINDS: readonly RecordKind[] = [
  'allocations',
  'ledgers',
  'pools',
  'outcomes',
  'intents',
  'owners',
  'jobs',
  'versions',
  'runs',
  'hosts',
  'eligibility',
  'roles',
  'quotas',
  'switches',
  'shared',
  'meta',
];

/** Written out: it is made for every revision, and this way all of them have one shape. */
function byKind<T>(make: () => T): Record<RecordKind, T> {
  return {
    meta: make(),
    hosts: make(),
    eligibility: make(),
    ledgers: make(),
    allocations: make(),
    jobs: make(),
    versions: make(),
    owners: make(),
    outcomes: make(),
    intents: make(),
    runs: make(),
    roles: make(),
    quotas: make(),
    switches: make(),
    shared: make(),
    pools: make(),
  };
}

/** How the records of each kind are encoded. */
export const RECORD_CODECS: { readonly [R in RecordKind]: Codec<Records[R]> } = {
  meta: metaCodec,
  hosts: hostCodec,
  eligibility: eligibilityCodec,
  ledgers: ledgerCodec,
  allocations: allocationCodec,
  jobs: jobCodec,
  versions: jobCodec,
  owners: ownerCodec,
  outcomes: outcomeCodec,
  intents: intentCodec,
  runs: runCodec,
  roles: roleCodec,
  quotas: quotaCodec,
  shared: sharedResourceCodec,
  pools: poolCodec,
  switches: switchesCodec,
};

function prefixesOf(keys: CellKeys): Record<RecordKind, string> {
  const { meta, hosts, eligibility, ledgers, allocations, jobs, versions, owners } = keys;
  const { outcomes, intents, runs, roles, shared, pools, switches } = keys;
  return {
    ...{ meta, hosts, eligibility, ledgers, allocations, jobs, versions, owners },
    ...{ outcomes, intents, runs, roles, quotas: keys.quota(''), shared, pools, switches },
  };
}
