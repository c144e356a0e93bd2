import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Group, Job, JobRecord, Move } from '../../src/core/cell/job.ts';
import { JOB_MOVES_MAX } from '../../src/core/cell/job.ts';
import type { Entry, Write } from '../../src/ports/cell-store.ts';
import type { SubmitAnswer } from '../../src/wire/api/monitor-api.ts';
import type { RolloutAct, ScaleRequest } from '../../src/wire/api/monitor-api.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { jobCodec } from '../../src/wire/records/records.ts';
import { movesWith } from './moves.ts';
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
  readonly traceparent: string | undefined;
}

interface RenewOptions extends SubmitOptions {
  /** The earlier version whose spec it is. */
  readonly restores?: number;
  /** What was said of the update under way is still meant. */
  readonly keepsRollout?: boolean;
  /** It ran before: no canary has to show that it does. */
  readonly isKnown?: boolean;
}

/** Nothing is written: there is nothing to trace. */
const PREVIEW: RenewOptions = { ifMatch: null, traceparent: undefined };

/** Submits and stops jobs: each a compare-and-swap on the job's key. */
export class JobWrites {
  readonly #deps: JobWritesDeps;

  constructor(deps: JobWritesDeps) {
    this.#deps = deps;
  }

  /** @throws ProblemError 409 when another version is there than asked for, or the type would change */
  submit(job: Job, options: SubmitOptions): Promise<Written<SubmitAnswer>> {
    return this.#renew(job, options, (known) => sinceRestart(job, known));
  }

  /**
   * The record that a submission would write now: that which is there, when it would change nothing.
   * @throws ProblemError as `submit`
   */
  async preview(job: Job): Promise<{ readonly record: JobRecord; readonly versionBefore: number | null }> {
    const known = await this.#read(this.#deps.keys.job(job.namespace, job.name));
    const wanted = sinceRestart(job, known);
    checkSubmit(wanted, known, null);
    if (known === null) return { record: this.#recordOf(wanted, null, PREVIEW), versionBefore: null };
    const versionBefore = known.record.version;
    if (isThere(wanted, known)) return { record: known.record, versionBefore };
    return { record: this.#recordOf(wanted, known, PREVIEW), versionBefore };
  }

  /**
   * Another number of allocations for one group. What its user said about an update under way still holds.
   * @throws ProblemError 404, 400 without such a group
   */
  scale(
    namespace: string,
    name: string,
    { group, count }: ScaleRequest,
    traceparent?: string,
  ): Promise<Written<SubmitAnswer>> {
    return this.#renew({ namespace, name }, { ifMatch: null, keepsRollout: true, traceparent }, (known) => {
      const { job } = known?.record ?? absent(namespace, name);
      const chosen = groupToScale(job, group);
      return { ...job, groups: { ...job.groups, [chosen.name]: { ...chosen, count } } };
    });
  }

  /** All that runs is replaced in turn by the same again. @throws ProblemError 404 */
  restart(namespace: string, name: string, traceparent?: string): Promise<Written<SubmitAnswer>> {
    const restartedAtMs = this.#deps.clock.nowMs();
    return this.#renew({ namespace, name }, { ifMatch: null, isKnown: true, traceparent }, (known) => {
      const { job } = known?.record ?? absent(namespace, name);
      if (job.type === 'batch')
        throw refuse(409, 'not-a-service', `${name} is a batch job: it runs once`, {
          hint: `moorage run --again ${name}`,
        });
      return { ...job, restartedAtMs };
    });
  }

  /**
   * Submits an earlier version's spec again.
   * @param from the version that must be the present one; null: whichever is
   * @throws ProblemError 404 without the job or the version, 409
   */
  async restore(
    namespace: string,
    name: string,
    { to, from }: { readonly to: number; readonly from: number | null },
    traceparent?: string,
  ): Promise<Written<SubmitAnswer>> {
    const then = await this.#read(this.#deps.keys.version(namespace, name, to));
    if (then === null)
      throw refuse(404, 'no-such-version', `version ${String(to)} of ${name} is not kept`, {
        hint: `moorage history ${name}`,
      });
    const options = { ifMatch: from, restores: to, isKnown: true, traceparent };
    return this.#renew({ namespace, name }, options, (known) => {
      if (known === null) return absent(namespace, name);
      return sinceRestart(then.record.job, known);
    });
  }

  /** What a user says of an update under way. @throws ProblemError 404 */
  steer(namespace: string, name: string, act: RolloutAct): Promise<number> {
    const atMs = this.#deps.clock.nowMs();
    return this.#change(namespace, name, (known) => {
      const { paused: _paused, ...rest } = known.rollout ?? { atMs };
      const changed = act === 'pause' ? { ...rest, paused: true as const } : rest;
      return {
        ...known,
        rollout: { ...changed, ...(act === 'promote' ? { promoted: true as const } : {}), atMs },
      };
    });
  }

  /** Asks the job's scheduler to have allocations on other hosts. @throws ProblemError 404, 409 */
  move(namespace: string, name: string, more: readonly Move[]): Promise<number> {
    return this.#change(namespace, name, (known) => {
      const moves = movesWith(known.moves, more, this.#deps.clock.nowMs());
      if (moves.length <= JOB_MOVES_MAX) return { ...known, moves };
      throw refuse(
        409,
        'too-many-moves',
        `${name} would have ${String(moves.length)} moves that are not done; ${String(JOB_MOVES_MAX)} may be`,
        { hint: `moorage why ${name}` },
      );
    });
  }

  /** @param make the spec that is to be there, of what is there */
  async #renew(
    { namespace, name }: Pick<Job, 'namespace' | 'name'>,
    options: RenewOptions,
    make: (known: Known | null) => Job,
  ): Promise<Written<SubmitAnswer>> {
    const key = this.#deps.keys.job(namespace, name);
    let known = await this.#read(key);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const job = make(known);
      checkSubmit(job, known, options.ifMatch);
      if (known !== null && isThere(job, known))
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
      const isSame = wanted.desired === known.record.desired && wanted.deleted === known.record.deleted;
      if (isSame && sameWish(wanted, known.record) && wanted.moves === known.record.moves)
        return known.revision;
      const done = await this.#write(key, known, wanted, []);
      if (typeof done === 'number') return done;
      known = done;
    }
    throw refuse(409, 'contended', `${jobKeyOf(namespace, name)} is being changed by others; try again`);
  }

  #recordOf(job: Job, known: Known | null, options: RenewOptions): JobRecord {
    // Fields that a newer version put on the record stay there.
    const {
      traceparent: _old,
      deleted: _taken,
      moves: _asked,
      rollout,
      restores: _other,
      ...kept
    } = known?.record ?? {};
    return {
      ...kept,
      job,
      version: (known?.record.version ?? 0) + 1,
      desired: 'run',
      submittedAtMs: this.#deps.clock.nowMs(),
      ...(rollout === undefined || options.keepsRollout !== true ? {} : { rollout }),
      ...(options.isKnown === true ? { rollout: { promoted: true, atMs: this.#deps.clock.nowMs() } } : {}),
      ...(options.restores === undefined ? {} : { restores: options.restores }),
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

/** A restart of before is none that a new spec asks for again. */
function sinceRestart(job: Job, known: Known | null): Job {
  const { restartedAtMs: _own, ...spec } = job;
  const restartedAtMs = known?.record.job.restartedAtMs;
  return restartedAtMs === undefined ? spec : { ...spec, restartedAtMs };
}

function absent(namespace: string, name: string): never {
  throw noSuchJob(jobKeyOf(namespace, name));
}

/** @throws ProblemError 400 */
function groupToScale({ name, type, groups }: Job, asked: string | undefined): Group {
  if (type === 'system')
    throw refuse(409, 'not-counted', `${name} is a system job: it has one allocation on every matching host`);
  const names = Object.keys(groups);
  const found = asked === undefined && names.length === 1 ? names[0] : asked;
  const group = found === undefined ? undefined : groups[found];
  if (group?.countMax !== undefined)
    throw refuse(409, 'not-counted', `group ${group.name} of ${name} grows and gives back by itself`, {
      path: 'group',
      hint: 'submit its file with another min and max',
    });
  if (group !== undefined) return group;
  const hint = `moorage scale ${name} --group ${names[0] ?? ''} N`;
  const detail = asked === undefined ? `has ${String(names.length)} groups` : `has no group "${asked}"`;
  throw refuse(400, 'bad-request', `${name} ${detail}; its groups: ${names.join(', ')}`, {
    path: 'group',
    hint,
  });
}

function sameWish({ rollout: a }: JobRecord, { rollout: b }: JobRecord): boolean {
  return a?.paused === b?.paused && a?.promoted === b?.promoted;
}

/** Then a submission changes nothing. */
function isThere(job: Job, { record }: Known): boolean {
  return record.desired === 'run' && canonicalJson(record.job) === canonicalJson(job);
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
