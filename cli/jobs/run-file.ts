import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { jobToFile } from '../../src/wire/job-file/job-file.ts';
import { updatePolicyOf } from '../../src/core/slots/update-policy.ts';
import { restartsText } from '../../src/core/slots/restarts.ts';
import type { JobStatus, JobSummary } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { clockTime, duration } from '../../src/wire/values/words.ts';
import { followLogs } from '../tasks/logs.ts';
import { readTimeout } from './timeout.ts';
import { UpWatch } from './up-watch.ts';
import { readJobFile } from './validate.ts';
import { whileStoreAway } from './while-store-away.ts';

export interface RunFileOptions {
  readonly name?: string;
  readonly detach: boolean;
  readonly timeout?: string;
  readonly checkVersion?: number;
  readonly logs: boolean;
}

const POLL_MS = 300;
const WHY_AFTER_MS = 2_000;
/** A service counts as up when all of it has run for so long without an end. */
const UP_MS = 2_000;
/** Started again so often while it was followed, a service is not going to stay up. */
const LOOP_RESTARTS = 3;

/** Submits a job file and follows the job: a batch job to its end, any other until all of it is up. */
export async function runFile(context: Context, file: string, options: RunFileOptions): Promise<number> {
  const job = await readJobFile(file);
  const timeoutMs = options.timeout === undefined ? null : readTimeout('run', options.timeout);
  const api = await context.api();
  const namespace = job.namespace === 'default' ? context.namespace : job.namespace;
  const submitted = { ...jobToFile(job), namespace, name: options.name ?? job.name };
  const { checkVersion } = options;
  const answer = await (checkVersion === undefined
    ? whileStoreAway(context, () => api.submit(submitted))
    : // A second delivery would find the version of the first, and be refused.
      api.submit(submitted, { ifMatch: checkVersion }));
  const name = { namespace: answer.namespace, job: answer.name };
  if (options.detach) {
    await printAnswer(context, answer, { text: () => `${answer.name}\n` });
    if (!answer.changed) await explainUnchanged(context, api, name, file);
    return EXIT.ok;
  }
  if (answer.changed)
    printTimed(context, `job "${answer.name}" submitted as version ${String(answer.version)}`);
  else await explainUnchanged(context, api, name, file);
  return await followJob(context, api, name, { timeoutMs, logs: options.logs, version: answer.version });
}

/** A user who submits a file again may expect that it runs again. */
async function explainUnchanged(
  context: Context,
  api: MonitorClient,
  name: JobRef,
  file: string,
): Promise<void> {
  const { summary } = await api.status(name);
  const { phase, version } = summary;
  if (phase !== 'complete' && phase !== 'failed') {
    printTimed(context, `job "${name.job}" is there already as version ${String(version)}, nothing changed`);
    return;
  }
  printTimed(
    context,
    `job "${name.job}" has ended already (${phase}, version ${String(version)}); the same file does not run it again`,
  );
  context.terminal.err(`next: moorage run --name ${name.job}-2 ${file}   (or change the file)\n`);
}

export async function followJob(
  context: Context,
  api: MonitorClient,
  name: JobRef,
  options: {
    readonly timeoutMs: number | null;
    readonly logs: boolean;
    /** A one-off run, which an interrupt stops. */
    readonly isRun?: boolean;
    /** Of a service: the version that is to be up. */
    readonly version?: number;
  },
): Promise<number> {
  const done = new AbortController();
  const signal = AbortSignal.any([context.interrupted, done.signal]);
  const logs = options.logs
    ? followLogs(context, api, name, { follow: true, query: {}, signal })
    : Promise.resolve();
  try {
    const code = await new Progress(context, api, name, options).untilSettled(signal);
    // The last output is still on its way; the logs end when the job has ended.
    if (options.logs && code !== EXIT.unplaceable)
      await Promise.race([logs, context.terminal.sleep(5_000, signal)]);
    return code;
  } finally {
    done.abort();
    await logs.catch(() => undefined);
  }
}

/** Prints each change of a job once, with its time. */
class Progress {
  readonly #context: Context;
  readonly #api: MonitorClient;
  readonly #name: JobRef;
  readonly #timeoutMs: number | null;
  readonly #isRun: boolean;
  readonly #version: number | null;
  #startMs = 0;
  #printed = '';
  #why = '';
  readonly #upkeep = new UpWatch();

  constructor(
    context: Context,
    api: MonitorClient,
    name: JobRef,
    {
      timeoutMs,
      isRun = false,
      version = null,
    }: { readonly timeoutMs: number | null; readonly isRun?: boolean; readonly version?: number | null },
  ) {
    this.#context = context;
    this.#api = api;
    this.#name = name;
    this.#timeoutMs = timeoutMs;
    this.#isRun = isRun;
    this.#version = version;
  }

  async untilSettled(signal: AbortSignal): Promise<number> {
    const { terminal } = this.#context;
    this.#startMs = terminal.nowMs();
    for (;;) {
      const status = await this.#api.status(this.#name);
      this.#printState(status.summary);
      const code = settled(status) ?? this.#upCode(status);
      if (code !== null) return this.#end(status, code);
      const waitedMs = terminal.nowMs() - this.#startMs;
      const { placed, desired, complete, failed } = status.summary.counts;
      const isWaiting = placed + complete + failed < desired || isUpdating(status);
      if (waitedMs > WHY_AFTER_MS && isWaiting) await this.#printWhy();
      if (this.#timeoutMs !== null && waitedMs > this.#timeoutMs) return this.#giveUp(placed < desired);
      await terminal.sleep(POLL_MS, signal);
      if (this.#context.interrupted.aborted) return this.#leave();
    }
  }

  /** Of what is to stay up; null: it is not known yet whether it does. */
  #upCode(status: JobStatus): number | null {
    const { summary, allocations } = status;
    if (summary.type === 'batch') return null;
    const rolled = this.#rolloutCode(status);
    if (rolled !== undefined) return rolled;
    const { upMs, restarts } = this.#upkeep.look(summary, allocations, this.#context.terminal.nowMs());
    if (restarts >= LOOP_RESTARTS) return EXIT.workloadFailed;
    if (this.#isLate(status)) return EXIT.workloadFailed;
    return upMs !== null && upMs >= UP_MS ? EXIT.ok : null;
  }

  /** Of what nobody watches as an update: is all of it placed, and still not ready after the time that its policy gives it? */
  #isLate({ summary, record }: JobStatus): boolean {
    const { placed, desired, running, ready = running } = summary.counts;
    if (placed < desired || ready >= desired) return false;
    const groups = Object.values(record.job.groups);
    const deadlineMs = Math.max(...groups.map((group) => updatePolicyOf(group).healthyDeadlineMs));
    if (this.#context.terminal.nowMs() - this.#startMs < deadlineMs) return false;
    const time = duration(deadlineMs);
    printTimed(this.#context, `not up within ${time}; it goes on trying`);
    return true;
  }

  /** By what the job's owner says of the update; null: it is under way. Undefined: none is watched. */
  #rolloutCode({ summary, rollout, record }: JobStatus): number | null | undefined {
    const { version } = summary;
    if (this.#version !== null && version > this.#version) return this.#replaced(record, this.#version);
    const isWatched =
      version > 1 || Object.values(record.job.groups).some(({ update }) => update?.autoRevert);
    if (rollout === undefined || !isWatched || summary.desired === 'stop') return undefined;
    const known = rollout.record?.version === version ? rollout.record : null;
    if (known?.state === 'done') return EXIT.ok;
    if (known?.state === 'failed') {
      const isUndone = Object.values(record.job.groups).some(({ update }) => update?.autoRevert);
      printTimed(this.#context, `the update to version ${String(version)} failed: ${known.reason}`);
      if (isUndone && known.good !== undefined)
        printTimed(this.#context, `version ${String(known.good)}, the last good one, takes its place again`);
      else
        this.#context.terminal.err(
          `next: moorage rollout undo ${this.#name.job}   (or submit a better one)\n`,
        );
      return EXIT.workloadFailed;
    }
    if (!rollout.paused && !this.#isForPromotion) return null;
    if (rollout.paused) printTimed(this.#context, 'the update is paused');
    return EXIT.ok;
  }

  #replaced({ version, restores }: JobStatus['record'], mine: number): number {
    const by = restores === undefined ? '' : `, which is version ${String(restores)} again`;
    printTimed(this.#context, `version ${String(mine)} was replaced by version ${String(version)}${by}`);
    return EXIT.workloadFailed;
  }

  #printState({ phase, counts, restarts }: JobSummary): void {
    const again = restarts.count === 0 ? '' : `, started again ${restartsText(restarts)}`;
    const line =
      `${phase}: placed ${String(counts.placed)}/${String(counts.desired)}, running ${String(counts.running)}, ` +
      `complete ${String(counts.complete)}, failed ${String(counts.failed)}${again}`;
    if (line !== this.#printed) printTimed(this.#context, (this.#printed = line));
  }

  async #printWhy(): Promise<void> {
    const why = await this.#api.why(this.#name).catch(() => null);
    if (why === null) return;
    // The seconds in it change all the time.
    const gist = why.summary.replaceAll(/\d+ s\b/g, '');
    if (gist !== this.#why) printTimed(this.#context, `waiting: ${why.summary}`);
    this.#why = gist;
    this.#isForPromotion = why.summary.includes('moorage rollout promote');
  }
  #isForPromotion = false;

  #end(status: JobStatus, code: number): number {
    const failed = status.outcomes.filter((outcome) => outcome.state !== 'complete').at(-1);
    const { phase, restarts } = status.summary;
    if (code !== EXIT.ok && phase !== 'failed' && restarts.count > 0)
      printTimed(this.#context, `it loops: started again ${restartsText(restarts)}; it goes on trying`);
    else if (code !== EXIT.ok && failed !== undefined)
      printTimed(
        this.#context,
        `last failure on ${failed.host === '' ? 'no host' : failed.host}: ${failed.reason}`,
      );
    if (code !== EXIT.ok) this.#context.terminal.err(`next: moorage status ${this.#name.job}\n`);
    return code;
  }

  #giveUp(unplaced: boolean): number {
    this.#context.terminal.err(
      `moorage: not ${unplaced ? 'placed' : 'settled'} in time; it stays submitted\nnext: moorage why ${this.#name.job}\n`,
    );
    return EXIT.unplaceable;
  }

  async #leave(): Promise<number> {
    if (this.#isRun) {
      this.#context.terminal.err(`moorage: stopping ${this.#name.job}\n`);
      // The interrupt ends calls that have no signal of their own.
      await this.#api.stop(this.#name, { signal: new AbortController().signal });
      return EXIT.signalBase + 2;
    }
    this.#context.terminal.err(`moorage: the job goes on; stop it with: moorage stop ${this.#name.job}\n`);
    return EXIT.signalBase + 2;
  }
}

/** Is something still to be replaced, or does something run that is not ready? */
function isUpdating({ summary, rollout }: JobStatus): boolean {
  const { running, ready = running } = summary.counts;
  return (rollout?.outdated ?? 0) > 0 || ready < running;
}

/** The exit code of a settled job; null while its state may still change. */
function settled({ summary, outcomes }: JobStatus): number | null {
  if (summary.phase === 'complete') return EXIT.ok;
  if (summary.phase === 'failed') {
    const unplaced = outcomes.some((outcome) => outcome.host === '');
    return unplaced ? EXIT.unplaceable : EXIT.workloadFailed;
  }
  return summary.phase === 'stopped' ? EXIT.workloadFailed : null;
}

function printTimed(context: Context, text: string): void {
  context.terminal.err(`${clockTime(context.terminal.nowMs())} ${text}\n`);
}
