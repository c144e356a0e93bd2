import type { ReportSource } from '../../src/runtime/reports/stream-reader.ts';
import type { Entry, OwnedJob } from './owned-job.ts';

/** An allocation of an owned job, with its job. */
export interface OwnEntry {
  readonly job: OwnedJob;
  readonly entry: Entry;
}

export class JobTable {
  readonly #jobs = new Map<string, OwnedJob>();
  readonly #systemJobs = new Set<OwnedJob>();
  readonly #entries = new Map<string, OwnEntry>();
  readonly #byHost = new Map<string, Set<OwnEntry>>();

  get size(): number {
    return this.#jobs.size;
  }

  get(key: string): OwnedJob | undefined {
    return this.#jobs.get(key);
  }

  jobs(): IterableIterator<OwnedJob> {
    return this.#jobs.values();
  }

  /** Those of type `system`: one allocation on every matching host. */
  systemJobs(): Iterable<OwnedJob> {
    return this.#systemJobs;
  }

  entry(id: string): OwnEntry | undefined {
    return this.#entries.get(id);
  }

  entries(): IterableIterator<OwnEntry> {
    return this.#entries.values();
  }

  get pending(): number {
    let sum = 0;
    for (const job of this.#jobs.values()) for (const group of job.groups.values()) sum += group.pending;
    return sum;
  }

  /** Since when the allocations that have waited longest have had no host (monotonic); null: none waits. */
  get pendingSinceMs(): number | null {
    let sinceMs: number | null = null;
    for (const job of this.#jobs.values())
      for (const { pendingSinceMs } of job.groups.values())
        if (pendingSinceMs !== null && (sinceMs === null || pendingSinceMs < sinceMs))
          sinceMs = pendingSinceMs;
    return sinceMs;
  }

  add(job: OwnedJob): void {
    this.#jobs.set(job.key, job);
    if (job.record.job.type === 'system') this.#systemJobs.add(job);
  }

  remove(job: OwnedJob): void {
    this.#jobs.delete(job.key);
    this.#systemJobs.delete(job);
    for (const id of job.entries.keys()) this.#drop(id);
    job.entries.clear();
  }

  index(job: OwnedJob, entry: Entry): void {
    this.#drop(entry.allocation.id);
    const own = { job, entry };
    this.#entries.set(entry.allocation.id, own);
    const { host } = entry.allocation;
    const there = this.#byHost.get(host);
    if (there === undefined) this.#byHost.set(host, new Set([own]));
    else there.add(own);
  }

  dropEntry(job: OwnedJob, entry: Entry): void {
    job.entries.delete(entry.allocation.id);
    this.#drop(entry.allocation.id);
  }

  /** Those on the host. */
  entriesOn(host: string): Iterable<OwnEntry> {
    return this.#byHost.get(host) ?? NONE;
  }

  #drop(id: string): void {
    const own = this.#entries.get(id);
    if (own === undefined) return;
    this.#entries.delete(id);
    const { host } = own.entry.allocation;
    const there = this.#byHost.get(host);
    there?.delete(own);
    if (there?.size === 0) this.#byHost.delete(host);
  }

  hostsInUse(addressOf: (host: string) => string | undefined): readonly ReportSource[] {
    const urls = new Map<string, string>();
    for (const { entry } of this.#entries.values()) {
      const { host } = entry.allocation;
      const address = urls.has(host) ? undefined : addressOf(host);
      if (address !== undefined) urls.set(host, address);
    }
    return [...urls].map(([name, url]) => ({ name, url }));
  }
}

const NONE: readonly OwnEntry[] = Object.freeze([]);
