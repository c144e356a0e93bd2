import type { Census } from '../../src/core/detector/attribution.ts';
import { Detector } from '../../src/core/detector/detector.ts';
import type { Suspect, SuspectKind } from '../../src/core/detector/suspects.ts';
import { domainSuspect, hostSuspect, kindOf, revisionSuspect } from '../../src/core/detector/suspects.ts';
import type { Subject, TrialKind } from '../../src/core/detector/units.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';

/** A host of a model cell: what it shares with others. */
export interface ModelHost {
  readonly name: string;
  readonly domains: Readonly<Record<string, string>>;
}

/** One allocation: it is up, or waits for its next start after a failure. */
export interface ModelTask {
  readonly job: number;
  version: number;
  readonly host: ModelHost;
  isUp: boolean;
  /** Its host has what it needs. */
  isFetched: boolean;
  sinceMs: number;
  /** Ends and starts since it was well last. */
  failures: number;
  /** When it fails, or is tried again. */
  dueMs: number;
}

/** How work fails in a model cell. All but the first two: default none. */
export interface Faults {
  /** Chance for a task that starts, or runs, to fail; 0 none. */
  failureChance(task: ModelTask, nowMs: number): number;
  /** Chance that what it needs cannot be fetched. */
  fetchChance(task: ModelTask, nowMs: number): number;
  /** Chance for a start to be refused by its host. */
  refusalChance(task: ModelTask, nowMs: number): number;
  /** From its start to its failure. */
  failsAfterMs(task: ModelTask): number;
}

const PROVEN_MS = 10_000;
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 300_000;
export const STEP_MS = 2_000;

/**
 * A cell without roles: hosts, and tasks that fail by given chances and are started again with backoff. What happens goes to the
 * detector as monitors would tell it.
 */
export class ModelCell {
  readonly hosts: readonly ModelHost[];
  readonly tasks: ModelTask[] = [];
  readonly detector = new Detector();
  readonly #random: SeededRandom;
  readonly #faults: Faults;
  /** When each job got its version. */
  readonly #submittedMs = new Map<string, number>();
  readonly #registryOf: (job: number) => string | null;
  readonly #subjects = new Map<ModelTask, Subject>();
  #counted = new Set<ModelTask>();
  nowMs = 0;

  constructor(
    hosts: readonly ModelHost[],
    random: SeededRandom,
    faults: Faults,
    registryOf: (job: number) => string | null = () => null,
  ) {
    this.hosts = hosts;
    this.#random = random;
    this.#faults = faults;
    this.#registryOf = registryOf;
  }

  add(job: number, host: ModelHost): ModelTask {
    const task = {
      job,
      version: 1,
      host,
      isUp: false,
      isFetched: false,
      sinceMs: this.nowMs,
      failures: 0,
      dueMs: this.nowMs,
    };
    this.tasks.push(task);
    return task;
  }

  /** The task is replaced by one of another version. */
  update(task: ModelTask, version: number): void {
    this.#down(task);
    this.#subjects.delete(task);
    if (!this.#submittedMs.has(`${String(task.job)}/${String(version)}`))
      this.#submittedMs.set(`${String(task.job)}/${String(version)}`, this.nowMs);
    Object.assign(task, { version, isUp: false, isFetched: false, failures: 0, dueMs: this.nowMs });
  }

  /** It ends without a failure, and is started again. */
  restart(task: ModelTask): void {
    this.#down(task);
    Object.assign(task, { isUp: false, dueMs: this.nowMs });
  }

  /** It ends well, and is started again: a run of a batch. */
  finish(task: ModelTask): void {
    if (task.isUp) this.detector.passed('run', this.#subject(task), this.nowMs);
    this.restart(task);
  }

  /** It ends badly, and is started again. */
  fail(task: ModelTask): void {
    if (task.isUp) this.#fail(task, 'run', 'exit code 1');
  }

  step(): void {
    this.nowMs += STEP_MS;
    for (const task of this.tasks) this.#advance(task);
  }

  census(): Census {
    const jobs = new Set(this.tasks.map(({ job }) => job)).size;
    const values = new Set(this.hosts.flatMap(({ domains }) => Object.entries(domains).map(String)));
    const counts: Readonly<Record<SuspectKind, number>> = {
      ...{ revision: jobs, artifact: jobs, registry: 3, host: this.hosts.length, domain: values.size },
    };
    return {
      count: (kind) => counts[kind],
      isRecent: (suspect, beforeMs) => {
        const [, , job = '', , version = ''] = suspect.split('/');
        const atMs =
          kindOf(suspect) === 'revision' ? this.#submittedMs.get(`${job.slice(4)}/${version}`) : undefined;
        return atMs !== undefined && beforeMs >= atMs && beforeMs - atMs < 30 * 60_000;
      },
    };
  }

  #advance(task: ModelTask): void {
    const { nowMs } = this;
    if (!task.isUp) {
      if (nowMs >= task.dueMs) this.#start(task);
      return;
    }
    if (nowMs >= task.dueMs) return this.#fail(task, 'run', 'exit code 1');
    if (nowMs - task.sinceMs >= PROVEN_MS && !this.#counted.has(task)) {
      this.#counted.add(task);
      task.failures = 0;
      this.detector.up(this.#subject(task), nowMs, 1);
    }
    // What began to fail after the start is asked about again.
    if (task.dueMs === Infinity && this.#hits(this.#faults.failureChance(task, nowMs) * 0.2))
      task.dueMs = nowMs + this.#faults.failsAfterMs(task);
  }

  #start(task: ModelTask): void {
    const { nowMs } = this;
    if (this.#hits(this.#faults.refusalChance(task, nowMs))) return this.#fail(task, 'start', 'disk-full');
    this.detector.passed('start', this.#subject(task), nowMs);
    if (this.#hits(this.#faults.fetchChance(task, nowMs))) return this.#fail(task, 'fetch', 'no answer');
    if (!task.isFetched) this.detector.passed('fetch', this.#subject(task), nowMs);
    task.isFetched = true;
    const fails = this.#hits(this.#faults.failureChance(task, nowMs));
    task.isUp = true;
    task.sinceMs = nowMs;
    task.dueMs = fails ? nowMs + this.#faults.failsAfterMs(task) : Infinity;
  }

  #fail(task: ModelTask, kind: TrialKind, reason: string): void {
    this.#down(task);
    this.detector.failed(kind, this.#subject(task), this.nowMs, reason);
    task.isUp = false;
    task.dueMs = this.nowMs + Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** task.failures);
    task.failures = Math.min(20, task.failures + 1);
  }

  #down(task: ModelTask): void {
    if (this.#counted.delete(task)) this.detector.up(this.#subject(task), this.nowMs, -1);
  }

  #subject(task: ModelTask): Subject {
    let subject = this.#subjects.get(task);
    if (subject === undefined)
      this.#subjects.set(task, (subject = subjectOf(task, this.#registryOf(task.job))));
    return subject;
  }

  #hits(chance: number): boolean {
    return chance > 0 && this.#random.fraction() < chance;
  }
}

function subjectOf({ job, version, host }: ModelTask, registry: string | null): Subject {
  const name = `job-${String(job)}`;
  const revision = revisionSuspect({ namespace: 'default', job: name, group: name, version });
  const domains = Object.entries(host.domains).map(([attribute, value]) => domainSuspect(attribute, value));
  const suspects: Suspect[] = [revision, hostSuspect(host.name), ...domains];
  if (registry !== null) suspects.push(`registry/${registry}`);
  return { job: `default/${name}`, revision: revision.slice('revision/'.length), host: host.name, suspects };
}
