/**
 * The files that tasks name by their hash, on this host: fetched, kept and given up in this file. `fetch-pace.ts` holds fetches to
 * the rate that the cell has, `fetch-slice-client.ts` asks the arbiters for it.
 */
import type { Artifact } from '../../src/core/cell/job.ts';
import type { ArtifactSource, Fetched } from '../../src/ports/artifacts.ts';
import { FetchError } from '../../src/ports/artifacts.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { AgentPorts } from '../ports.ts';
import { FetchPace } from './fetch-pace.ts';

const FILES = 'cas/sha256';
const UNFINISHED = 'cas/tmp';

/** Fetches at once: two fill the link of any host, and more only make each of them later (S3.35). */
const FETCHES_MAX = 2;
/** A source that is away for longer than these tries is somebody else's to fix; the allocation tries another host. */
const FETCH_TRIES_MAX = 4;
const RETRY = { firstMs: 500, maxMs: 8_000 };

/** What is derived from a file lies beside it, and goes with it. */
export interface Derived {
  remove(sha256: string): Promise<void>;
}

/**
 * Files by the SHA-256 of their bytes: fetched once whatever number of tasks need them, kept for the next ones, and given
 * up, least recently used first, when there is no room. What a task of this host uses is never given up, and needs no
 * source: a registry that is down stops only what was never here (S3.37).
 */
export class ArtifactCache {
  readonly #ports: Pick<AgentPorts, 'disk' | 'clock' | 'random' | 'log' | 'metrics'>;
  readonly #source: ArtifactSource;
  readonly #bytesMax: number;
  /** null: fetches are as fast as they come. */
  readonly #pace: FetchPace | null;
  /** Least recently used first. */
  readonly #kept = new Map<string, number>();
  /** Who uses what. */
  readonly #users = new Map<string, ReadonlySet<string>>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #queue: (() => void)[] = [];
  readonly #derived: Derived[] = [];
  readonly #stop = new AbortController();
  #fetching = 0;
  #made = 0;

  constructor(
    ports: Pick<AgentPorts, 'disk' | 'clock' | 'random' | 'log' | 'metrics' | 'fetchSlices'>,
    source: ArtifactSource,
    bytesMax: number,
  ) {
    this.#ports = ports;
    this.#source = source;
    this.#pace = ports.fetchSlices === undefined ? null : new FetchPace(ports.clock, ports.fetchSlices);
    this.#bytesMax = bytesMax;
  }

  /** Takes over what an earlier agent kept. What it had not finished is thrown away. */
  async open(): Promise<void> {
    const { disk } = this.#ports;
    await disk.remove(UNFINISHED);
    for (const name of await disk.list(FILES)) {
      const bytes = await disk.sizeOf(`${FILES}/${name}`);
      if (bytes !== null) this.#kept.set(name, bytes);
    }
  }

  /** Ends the fetches that are under way. */
  close(): void {
    this.#stop.abort();
  }

  addDerived(derived: Derived): void {
    this.#derived.push(derived);
  }

  /** From now on these are in use, whether they are here or not. */
  pin(user: string, hashes: Iterable<string>): void {
    this.#users.set(user, new Set(hashes));
  }

  unpin(user: string): void {
    this.#users.delete(user);
  }

  /** Files of fetches that have ended, and that could not be taken away then: names in the folder of unfinished ones. */
  async strays(): Promise<readonly string[]> {
    const names = await this.#ports.disk.list(UNFINISHED);
    return names.filter((name) => !this.#underWay.has(name.slice(0, name.indexOf('.'))));
  }

  removeStray(name: string): Promise<void> {
    return this.#ports.disk.remove(`${UNFINISHED}/${name}`);
  }

  has(sha256: string): boolean {
    return this.#kept.has(sha256);
  }

  /** Where the file lies in the state folder. */
  pathOf(sha256: string): string {
    return `${FILES}/${sha256}`;
  }

  /** Makes sure that the file is here. Calls for the same one share a fetch. @throws FetchError */
  async ensure(artifact: Artifact): Promise<void> {
    const { sha256 } = artifact;
    const bytes = this.#kept.get(sha256);
    if (bytes !== undefined) {
      this.#kept.delete(sha256);
      this.#kept.set(sha256, bytes);
      return;
    }
    const work =
      this.#underWay.get(sha256) ?? this.#bring(artifact).finally(() => this.#underWay.delete(sha256));
    this.#underWay.set(sha256, work);
    await work;
  }

  async #bring(artifact: Artifact): Promise<void> {
    const { clock, random, log } = this.#ports;
    const backoff = new Backoff(RETRY, random);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#inTurn(() => this.#fetch(artifact));
      } catch (error) {
        this.#ports.metrics.count('moorage_host_fetches_failed_total');
        const again = error instanceof FetchError && error.retryable && tries < FETCH_TRIES_MAX;
        if (!again || this.#stop.signal.aborted) throw error;
        log.warn({ error: error.message, tries }, 'cannot fetch an artifact yet');
        await sleep(clock, backoff.nextMs(), this.#stop.signal);
      }
    }
  }

  async #fetch({ source, sha256 }: Artifact): Promise<void> {
    const { disk, metrics } = this.#ports;
    this.#made += 1;
    const path = `${UNFINISHED}/${sha256}.${String(this.#made)}`;
    const bytesMax = this.#bytesMax - this.#bytesInUse();
    const { signal } = this.#stop;
    const pace = this.#pace;
    const paced = pace === null ? {} : { pace: (bytes: number) => pace.take(bytes, signal) };
    const fetched = await this.#source.fetch(source, path, { bytesMax, signal, ...paced });
    metrics.count('moorage_host_fetches_total');
    try {
      checkHash(source, sha256, fetched);
      await this.#makeRoom(fetched.bytes);
      await disk.makeFolder(FILES);
      await disk.move(path, this.pathOf(sha256));
    } catch (error) {
      await disk.remove(path);
      throw error;
    }
    this.#kept.set(sha256, fetched.bytes);
  }

  async #makeRoom(bytes: number): Promise<void> {
    let free = this.#bytesMax - [...this.#kept.values()].reduce((sum, one) => sum + one, 0);
    for (const [sha256, size] of [...this.#kept]) {
      if (free >= bytes) return;
      if (this.#isUsed(sha256)) continue;
      this.#kept.delete(sha256);
      await this.#ports.disk.remove(this.pathOf(sha256));
      for (const derived of this.#derived) await derived.remove(sha256);
      free += size;
    }
    if (free < bytes) throw new FetchError('full', 'the cache is full of what tasks use');
  }

  #isUsed(sha256: string): boolean {
    return [...this.#users.values()].some((hashes) => hashes.has(sha256));
  }

  #bytesInUse(): number {
    let sum = 0;
    for (const [sha256, bytes] of this.#kept) if (this.#isUsed(sha256)) sum += bytes;
    return sum;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    if (this.#fetching >= FETCHES_MAX) await new Promise<void>((turn) => this.#queue.push(turn));
    this.#fetching += 1;
    try {
      await work();
    } finally {
      this.#fetching -= 1;
      this.#queue.shift()?.();
    }
  }
}

function checkHash(source: string, wanted: string, { sha256 }: Fetched): void {
  if (sha256 !== wanted)
    throw new FetchError('refused', `${source}: has SHA-256 ${sha256}, and not ${wanted} as the job says`);
}
