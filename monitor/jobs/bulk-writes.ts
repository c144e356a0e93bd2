import type { Job } from '../../src/core/cell/job.ts';
import type { AttemptReply, Snapshot, Write } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import type { ListedJob } from '../../src/wire/job-file/listed-job.ts';
import { ListedJobTexts } from '../../src/wire/job-file/listed-job.ts';
import type { SubmitAnswer } from '../../src/wire/api/monitor-api.ts';
import { refuse } from '../refusals.ts';
import type { Written } from './job-writes.ts';

export interface BulkWritesDeps extends Pick<RolePorts, 'store' | 'keys' | 'clock'> {
  /** Submits a single job with all checks: for names that are taken. */
  submit(job: Job, traceparent: string | undefined): Promise<Written<SubmitAnswer>>;
}

/** How one job of many ended: what a submission of its own would have returned or thrown. */
export type Submitted = Written<SubmitAnswer> | { readonly error: unknown };

interface Item {
  readonly at: number;
  readonly key: string;
  readonly listed: ListedJob;
  readonly text: string;
  readonly size: number;
}

/** Transactions under way for one list, or single submissions: enough to keep the store busy while the next is prepared. */
const IN_FLIGHT_MAX = 4;

/**
 * Submits many jobs in few transactions. Each is taken for new at first, as most are; those whose name is taken are submitted
 * one by one, and the rest of their transaction once more.
 */
export class BulkWrites {
  readonly #deps: BulkWritesDeps;

  constructor(deps: BulkWritesDeps) {
    this.#deps = deps;
  }

  /** @returns one result for each job, in the order of the jobs. Does not reject for a single job. */
  async submit(jobs: readonly ListedJob[], traceparent: string | undefined): Promise<readonly Submitted[]> {
    const results = new Array<Submitted | undefined>(jobs.length).fill(undefined);
    const texts = new ListedJobTexts({
      version: 1,
      desired: 'run',
      submittedAtMs: this.#deps.clock.nowMs(),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    const chunks = this.#chunks(jobs, texts, results);
    const lane = async (): Promise<void> => {
      for (let next = chunks.next(); next.done !== true; next = chunks.next())
        for (const item of await this.#create(next.value, results))
          results[item.at] = await this.#submitOne(item.listed.job, traceparent);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, lane));
    return results.map((result) => result ?? { error: new Error('a job was left out') });
  }

  /** Lists that fit one transaction each, in operations and bytes. */
  *#chunks(
    jobs: readonly ListedJob[],
    texts: ListedJobTexts,
    results: (Submitted | undefined)[],
  ): Generator<readonly Item[]> {
    const { operationsMax, bytesMax } = this.#deps.store.limits;
    const keys = new Set<string>();
    let chunk: Item[] = [];
    let size = 0;
    for (let at = 0; at < jobs.length; at++) {
      const item = this.#itemOf(jobs[at]!, at, texts);
      if (keys.has(item.key)) {
        results[at] = {
          error: refuse(409, 'named-twice', 'the list names this job before', { path: 'name' }),
        };
        continue;
      }
      keys.add(item.key);
      if (chunk.length === operationsMax || (chunk.length > 0 && size + item.size > bytesMax)) {
        yield chunk;
        chunk = [];
        size = 0;
      }
      chunk.push(item);
      size += item.size;
    }
    if (chunk.length > 0) yield chunk;
  }

  #itemOf(listed: ListedJob, at: number, texts: ListedJobTexts): Item {
    const key = this.#deps.keys.job(listed.namespace, listed.name);
    const text = texts.of(listed);
    // The key stands in the compare, in the write and among what is read back.
    const size = Buffer.byteLength(text) + 3 * Buffer.byteLength(key);
    return { at, key, listed, text, size };
  }

  /** @returns jobs whose name is taken, or may be */
  async #create(chunk: readonly Item[], results: (Submitted | undefined)[]): Promise<readonly Item[]> {
    let left = chunk;
    const known: Item[] = [];
    // The second time without those that were there; if more names were taken meanwhile, one by one.
    for (let tries = 0; tries < 2 && left.length > 0; tries++) {
      let reply: AttemptReply | null;
      try {
        reply = await this.#attempt(left);
      } catch (error) {
        for (const { at } of left) results[at] = { error };
        return known;
      }
      if (reply.outcome === 'refused') {
        const { found } = reply;
        known.push(...left.filter(({ key }) => found.has(key)));
        left = left.filter(({ key }) => !found.has(key));
        continue;
      }
      const written = reply.outcome === 'applied' ? allAt(left, reply.revision) : await this.#written(left);
      for (const [{ at, listed }, revision] of written) results[at] = { answer: answerOf(listed), revision };
      return [...known, ...left.filter((item) => !written.has(item))];
    }
    return [...known, ...left];
  }

  #attempt(items: readonly Item[]): Promise<AttemptReply> {
    return this.#deps.store.attempt({
      compares: items.map(({ key }) => ({ key, target: 'modRevision', equals: 0 })),
      writes: items.map(({ key, text }): Write => ({ kind: 'put', key, value: text })),
      readBack: items.map(({ key }) => key),
    });
  }

  /**
   * After an unknown outcome: the records in the store with exactly the text that was sent. The others are submitted one by
   * one, which compares with what is there, also should the lost write still be applied.
   */
  async #written(items: readonly Item[]): Promise<ReadonlyMap<Item, number>> {
    let snapshot: Snapshot;
    try {
      snapshot = await this.#deps.store.read(items.map(({ key }) => key));
    } catch {
      return new Map();
    }
    const there = items.filter(({ key, text }) => snapshot.entries.get(key)?.value === text);
    return allAt(there, snapshot.revision);
  }

  async #submitOne(job: Job, traceparent: string | undefined): Promise<Submitted> {
    try {
      return await this.#deps.submit(job, traceparent);
    } catch (error) {
      return { error };
    }
  }
}

/** Items with the revision at which they were there. */
function allAt(items: readonly Item[], revision: number): ReadonlyMap<Item, number> {
  return new Map(items.map((item) => [item, revision]));
}

function answerOf({ namespace, name }: ListedJob): SubmitAnswer {
  return { namespace, name, version: 1, changed: true };
}
