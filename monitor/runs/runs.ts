/**
 * One-off runs: `runs.ts` creates them, and `log-relay.ts` relays their output from the host that `log-target.ts` finds. A run
 * is placed as any other job; its exit code is in the host's report and then in its outcome, from where `jobs/jobs.ts`
 * (`exit`) answers `GET /v1/jobs/:namespace/:job/exit`.
 */
import { makeId, runName } from '../../src/core/cell/ids.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { AttemptReply } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { RunAnswer } from '../../src/wire/api/monitor-api.ts';
import { jobCodec, runCodec } from '../../src/wire/records/records.ts';
import type { Written } from '../jobs/job-writes.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

export type RunsDeps = Pick<RolePorts, 'store' | 'keys' | 'clock' | 'random'>;

/** What a client may choose: it becomes the last part of a key. */
const KEY_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const TRIES_MAX = 5;
const RETRY_MS = 50;

/**
 * The run's key and its job are created in one transaction that compares the absence of both, so a request
 * that is sent twice, to one monitor or to two, makes one job (I20); and the same transaction may safely be sent again
 * when its outcome is unknown.
 */
export class Runs {
  readonly #deps: RunsDeps;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
  }

  /**
   * @returns when the run is durable
   * @throws ProblemError when the key is no key, or the store did not answer in time whether the run was made
   */
  async create(job: Job, key: string, traceparent?: string): Promise<Written<RunAnswer>> {
    if (!KEY_PATTERN.test(key))
      throw refuse(
        400,
        'bad-request',
        'Idempotency-Key must be 1 to 128 of letters, digits, dot, dash, underscore',
      );
    const { namespace } = job;
    let name = this.#nameOf(job);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const reply = await this.#attempt(job, name, key, traceparent).catch((error: unknown) => {
        // That this write was not sent says nothing about the one before, whose outcome is still open.
        throw tries === 0 ? error : outcomeUnknown('send the same again with the same Idempotency-Key');
      });
      if (reply.outcome === 'applied')
        return { answer: { namespace, job: name, created: true }, revision: reply.revision };
      if (reply.outcome === 'unknown') {
        await sleep(this.#deps.clock, RETRY_MS);
        continue;
      }
      const found = reply.found.get(this.#deps.keys.run(namespace, key));
      if (found !== undefined) {
        const run = runCodec.decode(found.value);
        const answer = { namespace, job: run.job, created: run.job === name };
        return { answer, revision: found.modRevision };
      }
      name = this.#nameOf(job);
    }
    throw outcomeUnknown('send the same again with the same Idempotency-Key');
  }

  #nameOf(job: Job): string {
    return runName(job.name, makeId(this.#deps.clock.nowMs(), this.#deps.random.bytes(16)));
  }

  #attempt(job: Job, name: string, key: string, traceparent: string | undefined): Promise<AttemptReply> {
    const { store, keys, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const record: JobRecord = {
      job: asRun(job, name),
      version: 1,
      desired: 'run',
      submittedAtMs: nowMs,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const runKey = keys.run(job.namespace, key);
    const jobKey = keys.job(job.namespace, name);
    return store.attempt({
      compares: [
        { key: runKey, target: 'createRevision', equals: 0 },
        { key: jobKey, target: 'createRevision', equals: 0 },
      ],
      writes: [
        { kind: 'put', key: runKey, value: runCodec.encode({ job: name, createdAtMs: nowMs }) },
        { kind: 'put', key: jobKey, value: jobCodec.encode(record) },
      ],
      readBack: [runKey],
    });
  }
}

/** The job under the run's own name. The group of a job's short form has the job's name, and gets the new one. */
function asRun(job: Job, name: string): Job {
  const groups = Object.values(job.groups).map((group) =>
    group.name === job.name ? { ...group, name } : group,
  );
  return {
    ...job,
    name,
    oneOff: true,
    groups: Object.fromEntries(groups.map((group) => [group.name, group])),
  };
}
