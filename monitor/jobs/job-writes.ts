import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { Entry, Write } from '../../src/ports/cell-store.ts';
import type { SubmitAnswer } from '../../src/wire/api/monitor-api.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { jobCodec } from '../../src/wire/records/records.ts';
import { noSuchJob, outcomeUnknown, refuse } from '../refusals.ts';

/** Each try fails only when another request changed the same job. */
const TRIES_MAX = 8;

export type JobWritesDeps = Pick<RolePorts, 'store' | 'keys' | 'clock'>;

interface Known {
  readonly record: JobRecord;
  readonly revision: number;
}

/** What is answered, and the revision at which it holds. */
export interface Written<T> {
  readonly answer: T;
  readonly revision: number;
}

export interface SubmitOptions {
  /** The version that must be there; 0: none; null: any. */
  readonly ifMatch: number | null;
  readonly traceparent?: string;
}

/** Submits and stops jobs: each a compare-and-swap on the job's key. */
export class JobWrites {
  readonly #deps: JobWritesDeps;

  constructor(deps: JobWritesDeps) {
    this.#deps = deps;
  }

  /** @throws ProblemError 409 when another version is there than asked for, or the type would change */
  async submit(job: Job, options: SubmitOptions): Promise<Written<SubmitAnswer>> {
    const { namespace, name } = job;
    const key = this.#deps.keys.job(namespace, name);
    let known = await this.#read(key);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      checkSubmit(job, known, options.ifMatch);
      if (known !== null && known.record.desired === 'run' && sameSpec(known.record.job, job))
        return {
          answer: { namespace, name, version: known.record.version, changed: false },
          revision: known.revision,
        };
      const record = this.#recordOf(job, known, options);
      const done = await this.#write(key, known, record, this.#keptOf(known));
      if (typeof done === 'number')
        return { answer: { namespace, name, version: record.version, changed: true }, revision: done };
      known = done;
    }
    throw refuse(409, 'contended', `${jobKeyOf(namespace, name)} is being changed by others; try again`);
  }

  /**
   * @returns the revision at which the job was marked as stopped
   * @throws ProblemError 404
   */
  stop(namespace: string, name: string): Promise<number> {
    return this.#change(namespace, name, (known) => ({ ...known, desired: 'stop' }));
  }

  /**
   * Stops the job, and has the reaper delete it with all its records when its hosts have released everything. The same again
   * changes nothing; a submission meanwhile takes it back.
   * @returns the revision at which that was noted
   * @throws ProblemError 404
   */
  delete(namespace: string, name: string): Promise<number> {
    return this.#change(namespace, name, (known) => ({ ...known, desired: 'stop', deleted: true }));
  }

  async #change(namespace: string, name: string, changed: (known: JobRecord) => JobRecord): Promise<number> {
    const key = this.#deps.keys.job(namespace, name);
    let known = await this.#read(key);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (known === null) throw noSuchJob(jobKeyOf(namespace, name));
      const wanted = changed(known.record);
      if (wanted.desired === known.record.desired && wanted.deleted === known.record.deleted)
        return known.revision;
      const done = await this.#write(key, known, wanted, []);
      if (typeof done === 'number') return done;
      known = done;
    }
    throw refuse(409, 'contended', `${jobKeyOf(namespace, name)} is being changed by others; try again`);
  }

  #recordOf(job: Job, known: Known | null, options: SubmitOptions): JobRecord {
    // Fields that a newer version put on the record stay there.
    const { traceparent: _old, deleted: _taken, ...kept } = known?.record ?? {};
    return {
      ...kept,
      job,
      version: (known?.record.version ?? 0) + 1,
      desired: 'run',
      submittedAtMs: this.#deps.clock.nowMs(),
      ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
    };
  }

  /** The spec that is replaced: what still runs by it can be explained and started again. */
  #keptOf(known: Known | null): readonly Write[] {
    if (known === null) return [];
    const { job, version } = known.record;
    const key = this.#deps.keys.version(job.namespace, job.name, version);
    return [{ kind: 'put', key, value: jobCodec.encode(known.record) }];
  }

  async #read(key: string): Promise<Known | null> {
    const snapshot = await this.#deps.store.read([key]);
    return knownOf(snapshot.entries.get(key));
  }

  /** @returns the revision at which it was applied, or what is there instead */
  async #write(
    key: string,
    known: Known | null,
    record: JobRecord,
    more: readonly Write[],
  ): Promise<number | Known | null> {
    const reply = await this.#deps.store.attempt({
      compares: [{ key, target: 'modRevision', equals: known?.revision ?? 0 }],
      writes: [{ kind: 'put', key, value: jobCodec.encode(record) }, ...more],
      readBack: [key],
    });
    if (reply.outcome === 'applied') return reply.revision;
    if (reply.outcome === 'refused') return knownOf(reply.found.get(key));
    // Unknown: the record that is there now decides, and the next try compares with it. Should the lost write still be
    // applied, that compare fails.
    const now = await this.#read(key).catch(() => undefined);
    if (now === undefined) throw outcomeUnknown('send the same again: an equal spec changes nothing');
    return now !== null && canonicalJson(now.record) === canonicalJson(record) ? now.revision : now;
  }
}

function knownOf(entry: Entry | undefined): Known | null {
  return entry === undefined ? null : { record: jobCodec.decode(entry.value), revision: entry.modRevision };
}

function sameSpec(a: Job, b: Job): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function checkSubmit(job: Job, known: Known | null, ifMatch: number | null): void {
  const version = known?.record.version ?? 0;
  if (ifMatch !== null && ifMatch !== version)
    throw refuse(409, 'version-mismatch', `version ${String(version)} is there, not ${String(ifMatch)}`, {
      hint: `moorage status ${job.name}`,
      extra: { version },
    });
  if (known !== null && known.record.job.type !== job.type)
    throw refuse(409, 'type-immutable', `the job is a ${known.record.job.type} job; its type cannot change`, {
      path: 'type',
      hint: 'choose another name',
    });
  if (known !== null && known.record.job.oneOff)
    throw refuse(409, 'name-taken', 'a one-off run has this name', { path: 'name' });
}
