/**
 * This monitor's copies of the cell.
 *
 * - `view.ts`: `CellCopy`, a live copy of the whole store, with indexes by job and host
 * - `record-cache.ts`: one kind of record in it; `record-index.ts`: records by a group key
 * - `report-relay.ts`: the merged reports of the hosts as a stream for schedulers, arbiters and other monitors
 * - `monitors.ts`: where the monitors are; `scrape-targets.ts`: where the metrics of all roles are
 * - `rank.ts`: which of the living monitors acts on a job, a host or the store
 */
import type { OpenIdProvider } from '../../src/core/access/openid.ts';
import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { BudgetPolicy } from '../../src/core/quota/budgets.ts';
import type { Bucket } from '../../src/core/quota/token-bucket.ts';
import type { RemedyPolicy } from '../../src/core/detector/remedies.ts';
import type { Verdict } from '../../src/core/detector/verdict.ts';
import type { CellMeta } from '../../src/core/core.ts';
import { labelled } from '../../src/core/host/attributes.ts';
import type { Eligibility, Host } from '../../src/core/host/host.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { Owner, RoleRecord } from '../../src/core/cell/cell.ts';
import type { Pause } from '../../src/core/quota/pauses.ts';
import type { Pool, SharedResource } from '../../src/core/quota/shared-resource.ts';
import type { CellStore, Change, Entry, Following, Snapshot } from '../../src/ports/cell-store.ts';
import { onAbort } from '../../src/ports/on-abort.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { RunRecord } from '../../src/wire/records/records.ts';
import {
  allocationCodec,
  eligibilityCodec,
  hostCodec,
  intentCodec,
  jobCodec,
  ledgerCodec,
  metaCodec,
  openIdProviderCodec,
  outcomeCodec,
  ownerCodec,
  pauseCodec,
  poolCodec,
  roleCodec,
  rolloutCodec,
  runCodec,
  sharedResourceCodec,
} from '../../src/wire/records/records.ts';
import type { ClosedHosts } from '../../src/wire/verdicts/verdict-records.ts';
import { bucketCodec, budgetPolicyCodec } from '../../src/wire/budgets/budget-records.ts';
import {
  closedHostsCodec,
  remedyPolicyCodec,
  verdictCodec,
} from '../../src/wire/verdicts/verdict-records.ts';
import { RecordIndex } from './record-index.ts';
import type { RowChange } from './record-cache.ts';
import { RecordCache } from './record-cache.ts';

/** The kinds of record that a monitor keeps, with their values. */
export interface RecordKinds {
  readonly hosts: Host;
  readonly alive: true;
  readonly eligibility: Eligibility;
  readonly ledgers: Ledger;
  readonly allocations: Allocation;
  readonly jobs: JobRecord;
  readonly versions: JobRecord;
  readonly owners: Owner;
  readonly outcomes: Outcome;
  readonly rollouts: RolloutRecord;
  readonly intents: Intent;
  readonly runs: RunRecord;
  readonly roles: RoleRecord;
  readonly meta: CellMeta;
  readonly shared: SharedResource;
  readonly pools: Pool;
  readonly pauses: Pause;
  readonly openid: OpenIdProvider;
  readonly verdicts: Verdict;
  readonly remedies: RemedyPolicy;
  readonly budgets: BudgetPolicy;
  readonly buckets: Bucket;
  readonly closedHosts: ClosedHosts;
}

export type RecordKind = keyof RecordKinds;

export type CellChange = { [K in RecordKind]: { readonly kind: K } & RowChange<RecordKinds[K]> }[RecordKind];

export interface CellCopyHandlers {
  /** @param listed a snapshot shows it, so its ordinal is not that of the change in its revision */
  onChange(change: CellChange, listed: boolean): void;
  /**
   * A snapshot is about to replace the copy: changes before its revision may have been missed. Those that it shows follow in
   * the order of revisions; of the first snapshot none.
   */
  onGap(revision: number, first: boolean): void;
  onReplaced(): void;
}

/**
 * One watch over the whole cell instead of one for each kind of record: changes of different kinds come in the order of their
 * revisions, and those of one transaction together. An allocation and the outcome that replaces it are never both missing.
 */
export class CellCopy {
  readonly hosts: RecordCache<Host>;
  readonly alive: RecordCache<true>;
  readonly eligibility: RecordCache<Eligibility>;
  readonly ledgers: RecordCache<Ledger>;
  readonly allocations: RecordCache<Allocation>;
  readonly jobs: RecordCache<JobRecord>;
  readonly versions: RecordCache<JobRecord>;
  readonly owners: RecordCache<Owner>;
  readonly outcomes: RecordCache<Outcome>;
  /** By `<namespace>/<job>/state`. */
  readonly rollouts: RecordCache<RolloutRecord>;
  readonly intents: RecordCache<Intent>;
  readonly runs: RecordCache<RunRecord>;
  readonly roles: RecordCache<RoleRecord>;
  /** What hosts share by the operators' definition, and what is claimed of it by `<resource>/<value>`. */
  readonly shared: RecordCache<SharedResource>;
  readonly pools: RecordCache<Pool>;
  /** One record, of no name. */
  readonly meta: RecordCache<CellMeta>;
  /** One record, of no name. */
  readonly pauses: RecordCache<Pause>;
  readonly openid: RecordCache<OpenIdProvider>;
  /** By suspect. */
  readonly verdicts: RecordCache<Verdict>;
  /** One record, of no name. */
  readonly remedies: RecordCache<RemedyPolicy>;
  /** One record, of no name. */
  readonly budgets: RecordCache<BudgetPolicy>;
  /** By the kind of budget. */
  readonly buckets: RecordCache<Bucket>;
  /** By `pool/<pool>`. */
  readonly closedHosts: RecordCache<ClosedHosts>;
  /** Allocations and outcomes by `<namespace>/<job>`, and allocations by host. */
  readonly allocationsByJob = new RecordIndex<Allocation>();
  readonly allocationsByHost = new RecordIndex<Allocation>();
  readonly outcomesByJob = new RecordIndex<Outcome>();
  /** By the whole name, which ends in the number. */
  readonly versionsByJob = new RecordIndex<JobRecord>();
  readonly runsByJob = new RecordIndex<RunRecord>();
  readonly ready: Promise<void>;
  readonly #handlers: CellCopyHandlers;
  readonly #log: Log;
  readonly #caches: RecordCache<unknown>[] = [];
  /** By the folder below the cell's root, with its slash. */
  readonly #cacheByFolder: ReadonlyMap<string, RecordCache<unknown>>;
  readonly #rootLength: number;
  readonly #following: Following;
  readonly #waiting = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  #revision = 0;
  #changedAt = 0;
  #first = true;
  /** During the first snapshot no changes are reported. */
  #quiet = true;
  /** Changes now come from a snapshot. */
  #listing = false;

  constructor(store: CellStore, keys: CellKeys, log: Log, handlers: CellCopyHandlers) {
    this.#handlers = handlers;
    this.#log = log;
    this.hosts = this.#cache('hosts', keys.hosts, (text) => hostCodec.decode(text));
    this.alive = this.#cache('alive', keys.alive, () => true as const);
    this.eligibility = this.#cache('eligibility', keys.eligibility, (text) => eligibilityCodec.decode(text));
    this.ledgers = this.#cache('ledgers', keys.ledgers, (text) => ledgerCodec.decode(text));
    this.allocations = this.#cache('allocations', keys.allocations, (text) => allocationCodec.decode(text));
    this.jobs = this.#cache('jobs', keys.jobs, (text) => jobCodec.decode(text), true);
    this.versions = this.#cache('versions', keys.versions, (text) => jobCodec.decode(text), true);
    this.owners = this.#cache('owners', keys.owners, (text) => ownerCodec.decode(text), true);
    this.outcomes = this.#cache('outcomes', keys.outcomes, (text) => outcomeCodec.decode(text));
    this.rollouts = this.#cache('rollouts', keys.rollouts, (text) => rolloutCodec.decode(text), true);
    this.intents = this.#cache('intents', keys.intents, (text) => intentCodec.decode(text));
    this.runs = this.#cache('runs', keys.runs, (text) => runCodec.decode(text));
    this.roles = this.#cache('roles', keys.roles, (text) => roleCodec.decode(text));
    this.pauses = this.#cache('pauses', keys.pauses, (text) => pauseCodec.decode(text));
    this.openid = this.#cache('openid', keys.openid, (text) => openIdProviderCodec.decode(text));
    this.verdicts = this.#cache('verdicts', keys.verdicts, (text) => verdictCodec.decode(text));
    this.remedies = this.#cache('remedies', keys.remedies, (text) => remedyPolicyCodec.decode(text));
    this.budgets = this.#cache('budgets', keys.budgets, (text) => budgetPolicyCodec.decode(text));
    this.buckets = this.#cache('buckets', keys.buckets, (text) => bucketCodec.decode(text));
    this.closedHosts = this.#cache('closedHosts', keys.closedHosts, (text) => closedHostsCodec.decode(text));
    this.meta = this.#cache('meta', keys.meta, (text) => metaCodec.decode(text));
    this.shared = this.#cache('shared', keys.shared, (text) => sharedResourceCodec.decode(text));
    this.pools = this.#cache('pools', keys.pools, (text) => poolCodec.decode(text));
    this.#rootLength = keys.root.length;
    this.#cacheByFolder = new Map(this.#caches.map((cache) => [cache.prefix.slice(keys.root.length), cache]));
    this.#following = store.follow(keys.root, {
      onSnapshot: (snapshot) => this.#replace(snapshot),
      onChanges: (changes, revision) => this.#apply(changes, revision),
    });
    this.ready = this.#following.ready;
    // Rejects on a close before the first snapshot; a rejection that no caller awaits is no fault.
    this.ready.catch(() => undefined);
  }

  get revision(): number {
    return this.#revision;
  }

  /**
   * Of the last change that it holds, which every other copy of the cell comes to hold too. `revision` may lie after it: a
   * snapshot is of a revision of the whole store, and other copies do not hear of that one.
   */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** Of that version, if it is the present one or kept. */
  recordOf(jobKey: string, version: number): JobRecord | undefined {
    const current = this.jobs.get(jobKey)?.value;
    return current?.version === version ? current : this.#versionOf(jobKey, version);
  }

  /** The specs of one job by version, as far as they are kept. */
  versionsOf(jobKey: string, upTo: number): ReadonlyMap<number, Job> {
    const specs = new Map<number, Job>();
    for (let version = upTo; version > 0 && specs.size < VERSIONS_READ_MAX; version--) {
      const record = this.#versionOf(jobKey, version);
      if (record !== undefined) specs.set(version, record.job);
    }
    return specs;
  }

  #versionOf(jobKey: string, version: number): JobRecord | undefined {
    return this.versions.get(`${jobKey}/${String(version).padStart(6, '0')}`)?.value;
  }

  /** How far the job's last update was seen to be. */
  rolloutOf(jobKey: string): RolloutRecord | null {
    return this.rollouts.get(`${jobKey}/state`)?.value ?? null;
  }

  /** The host as constraints see it: with the labels that operators gave it. */
  hostOf(id: string): Host | undefined {
    const host = this.hosts.get(id)?.value;
    return host === undefined ? undefined : labelled(host, this.eligibility.get(id)?.value.labels);
  }

  *allAllocations(): IterableIterator<Allocation> {
    for (const [, { value }] of this.allocations.rows()) yield value;
  }

  /** The job's allocations without those that are only reserved: a gang shows whole, or not at all (I6). */
  *allocationsOf(jobKey: string): IterableIterator<Allocation> {
    for (const { value } of this.allocationsByJob.of(jobKey).values())
      if (value.intent === undefined || !this.intents.has(`${jobKey}/${value.intent}`)) yield value;
  }

  /** Records whose last version cannot be read, by their keys below the cell's root, and why. */
  *unreadable(): IterableIterator<readonly [key: string, why: string]> {
    for (const cache of this.#caches)
      for (const [key, why] of cache.unreadable()) yield [key.slice(this.#rootLength), why];
  }

  /** Resolves when the copy holds all up to the revision, or when the signal is aborted. */
  reached(revision: number, signal: AbortSignal): Promise<void> {
    if (revision <= this.#revision || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = { revision, resolve };
      this.#waiting.add(waiting);
      onAbort(signal, () => {
        this.#waiting.delete(waiting);
        resolve();
      });
    });
  }

  close(): void {
    this.#following.close();
  }

  /** @param lazy for records that come by the thousand and are seldom read */
  #cache<K extends RecordKind>(
    kind: K,
    prefix: string,
    decode: (text: string) => RecordKinds[K],
    lazy = false,
  ): RecordCache<RecordKinds[K]> {
    const cache = new RecordCache<RecordKinds[K]>({
      name: kind,
      prefix,
      lazy,
      decode,
      onBadRecord: (key, error) => this.#log.error({ key, error }, 'a record cannot be read and is left out'),
      onChange: (change) => this.#onChange(change as CellChange),
    });
    this.#caches.push(cache);
    return cache;
  }

  #onChange(change: CellChange): void {
    this.#reindex(change);
    if (!this.#quiet) this.#handlers.onChange(change, this.#listing);
  }

  #reindex(change: CellChange): void {
    switch (change.kind) {
      case 'allocations': {
        const host = (change.now ?? change.before)?.value.host ?? '';
        this.allocationsByJob.change(jobKeyOfName(change.name), idOfName(change.name), change.now);
        this.allocationsByHost.change(host, idOfName(change.name), change.now);
        break;
      }
      case 'outcomes':
        this.outcomesByJob.change(jobKeyOfName(change.name), idOfName(change.name), change.now);
        break;
      case 'versions':
        this.versionsByJob.change(jobKeyOfName(change.name), change.name, change.now);
        break;
      case 'runs': {
        const namespace = change.name.slice(0, change.name.indexOf('/'));
        const job = (change.now ?? change.before)?.value.job ?? '';
        this.runsByJob.change(`${namespace}/${job}`, change.name, change.now);
        break;
      }
      default:
    }
  }

  #replace(snapshot: Snapshot): void {
    const first = this.#first;
    this.#first = false;
    this.#handlers.onGap(snapshot.revision, first);
    this.#listing = true;
    const keys = new Set(snapshot.entries.keys());
    const ordinals = new Map<number, number>();
    for (const entry of first ? snapshot.entries.values() : byRevision(snapshot)) {
      const ordinal = ordinals.get(entry.modRevision) ?? 0;
      ordinals.set(entry.modRevision, ordinal + 1);
      this.#cacheOf(entry.key)?.put(entry, entry.modRevision, ordinal);
      this.#changedAt = Math.max(this.#changedAt, entry.modRevision);
    }
    // No two changes have the same position, whatever their kinds.
    let ordinal = ordinals.get(snapshot.revision) ?? 0;
    for (const cache of this.#caches) ordinal = cache.keepOnly(keys, snapshot.revision, ordinal);
    this.#advance(snapshot.revision);
    this.#quiet = false;
    this.#listing = false;
    this.#handlers.onReplaced();
  }

  #apply(changes: readonly Change[], revision: number): void {
    for (let ordinal = 0; ordinal < changes.length; ordinal++) {
      const change = changes[ordinal]!;
      if (change.kind === 'put')
        this.#cacheOf(change.entry.key)?.put(change.entry, change.entry.modRevision, ordinal);
      else this.#cacheOf(change.key)?.delete(change.key, revision, ordinal);
    }
    this.#changedAt = Math.max(this.#changedAt, revision);
    this.#advance(revision);
  }

  #advance(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
    for (const waiting of this.#waiting) {
      if (waiting.revision > this.#revision) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
  }

  #cacheOf(key: string): RecordCache<unknown> | undefined {
    const from = this.#rootLength;
    const end = key.indexOf('/', from);
    const cache = this.#cacheByFolder.get(key.slice(from, end < 0 ? key.length : end + 1));
    return cache ?? this.#caches.find(({ prefix }) => key.startsWith(prefix));
  }
}

function byRevision({ entries }: Snapshot): readonly Entry[] {
  return [...entries.values()].sort((a, b) => a.modRevision - b.modRevision);
}

/** Older specs than these do not matter to what runs now. */
const VERSIONS_READ_MAX = 20;

/** `<namespace>/<job>/<id>` → `<namespace>/<job>` */
function jobKeyOfName(name: string): string {
  return name.slice(0, name.lastIndexOf('/'));
}

function idOfName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
