import { randomUUID } from 'node:crypto';
import { errorText } from '../../src/core/errors/errors.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { RunExit } from '../../src/wire/api/monitor-api.ts';
import type { LogStream } from '../../src/wire/api/host-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, signalCode } from '../command/exit.ts';
import type { LogPlace, LogSource, RelayOptions } from '../tasks/relay.ts';
import { relay, relayRest } from '../tasks/relay.ts';
import { printAnswer } from '../output/output.ts';
import type { Inputs, RunOnceOptions } from './one-off-file.ts';
import { countOf, inputsOf, oneOffFile } from './one-off-file.ts';
import { whileStoreAway } from './while-store-away.ts';

/** One question to the monitor about the end; it answers earlier when the run ends earlier. */
const EXIT_WAIT_MS = 20_000;
/** How long no monitor may answer before the command fails; the run itself is not stopped. */
const OUTAGE_MAX_MS = 60_000;
const RETRY_MS = 500;
/** When and how often a run that waits for a place is explained. */
const WHY_AFTER_MS = 2_000;
const WHY_EVERY_MS = 5_000;
/** How long the rest of the output may take once the run has ended: a lost host never ends its stream. */
const OUTPUT_GRACE_MS = 5_000;
/** An output that ended although the run has not: its allocation was evicted, and another one's follows. */
const REOPEN_MS = 200;

/** Problems of one allocation's output, not of the run. */
const OUTPUT_LOST: ReadonlySet<string> = new Set(['log-gone', 'host-unreachable', 'no-such-allocation']);

/** Runs a command somewhere in the cell as if it ran here: its output, its exit code. */
export async function runOnce(
  context: Context,
  command: readonly string[],
  options: RunOnceOptions,
): Promise<number> {
  const inputs = inputsOf(context, options);
  const file = await oneOffFile(context, command, options, inputs);
  return startRun(context, { file, count: countOf(options) }, options.detach, inputs);
}

/** A job file for `POST /v1/runs`, and how many allocations it asks for. */
interface RunOrder {
  readonly file: unknown;
  readonly count: number;
}

/** Makes a run and follows it; of several tasks the output has their names, and the exit code is that of a job. */
export async function startRun(
  context: Context,
  { file, count }: RunOrder,
  detach: boolean,
  inputs: Inputs,
): Promise<number> {
  const api = await context.api();
  // With the same key a second delivery finds the run of the first one.
  const key = randomUUID();
  const answer = await whileStoreAway(context, () => api.run(file, key));
  if (detach) {
    await printAnswer(context, answer, { name: answer.job, text: () => `${answer.job}\n` });
    return EXIT.ok;
  }
  if (count > 1) {
    const { followJob } = await import('./run-file.ts');
    return followJob(context, api, answer, { timeoutMs: null, logs: true, isRun: true });
  }
  try {
    // The first interrupt stops the run and waits for its end; the second exits.
    context.endInOrder();
    return await new RunFollower(context, api, answer, inputs).follow();
  } catch (error) {
    const hint = `moorage status ${answer.job}   (it may still run)`;
    throw new CliError(EXIT.ownFault, errorText(error), hint, error);
  }
}

/** Follows one run: relays both streams, waits for the end, explains why it waits. */
class RunFollower {
  readonly #context: Context;
  readonly #api: MonitorClient;
  readonly #name: JobRef;
  readonly #inputs: Inputs;
  readonly #done = new AbortController();
  #ended = false;
  #hasOutput = false;

  constructor(context: Context, api: MonitorClient, name: JobRef, inputs: Inputs) {
    this.#context = context;
    this.#api = api;
    this.#name = name;
    this.#inputs = inputs;
  }

  async follow(): Promise<number> {
    const { interrupted } = this.#context;
    const onInterrupt = (): void => void this.#stop();
    interrupted.addEventListener('abort', onInterrupt, { once: true });
    const explained = this.#explain();
    const input = this.#input().catch((error: unknown) =>
      this.#note(`its input is not passed on: ${errorText(error)}`),
    );
    try {
      const outputs = Promise.all([this.#output('stdout'), this.#output('stderr')]);
      const first = await Promise.race([this.#exit(), outputs.then(() => this.#exit())]);
      this.#ended = true;
      // What never started has no output to wait for.
      const graceMs = first.allocation === null || (first.host ?? '') === '' ? 0 : OUTPUT_GRACE_MS;
      await Promise.race([outputs, this.#context.terminal.sleep(graceMs, this.#done.signal)]);
      return this.#codeOf(first);
    } finally {
      this.#done.abort();
      interrupted.removeEventListener('abort', onInterrupt);
      await Promise.all([explained, input]);
    }
  }

  async #input(): Promise<void> {
    const { stdin, terminal } = this.#inputs;
    if (!stdin && !terminal) return;
    const { passInput } = await import('./run-input.ts');
    const options = { ...this.#inputs, signal: this.#done.signal };
    if (await passInput(this.#context, this.#api, this.#name, options)) return;
    this.#note('it was placed again, and its input had begun: what follows would begin in the middle');
    await this.#stop();
  }

  #exitAnswer: Promise<RunExit> | null = null;

  #exit(): Promise<RunExit> {
    return (this.#exitAnswer ??= this.#awaitExit());
  }

  async #awaitExit(): Promise<RunExit> {
    const { terminal } = this.#context;
    let heardMs = terminal.nowMs();
    for (;;) {
      try {
        const end = await this.#api.exit(this.#name, EXIT_WAIT_MS, { signal: this.#done.signal });
        heardMs = terminal.nowMs();
        if (end === null) continue;
        this.#ended = true;
        return end;
      } catch (error) {
        // The run does not need the monitors: all of them may be down for a while.
        const away = isAway(error) && terminal.nowMs() - heardMs < OUTAGE_MAX_MS;
        if (!away || this.#done.signal.aborted) throw error;
      }
      await terminal.sleep(RETRY_MS, this.#done.signal);
    }
  }

  async #output(stream: LogStream): Promise<void> {
    const { terminal } = this.#context;
    const source = { name: this.#name, call: { stream } };
    const write = (chunk: Uint8Array): void => {
      this.#hasOutput = true;
      if (stream === 'stdout') terminal.out(chunk);
      else terminal.err(chunk);
    };
    const options = {
      signal: this.#done.signal,
      write,
      onGap: (bytes: number) => this.#note(`${String(bytes)} bytes of ${stream} were dropped by the host`),
    };
    const place: LogPlace = { allocation: null, offset: 0 };
    while (!this.#done.signal.aborted) {
      const wasEnded = this.#ended;
      const whole = await this.#relay(source, { ...options, place, follow: !wasEnded });
      if (wasEnded) return;
      await Promise.race([this.#exit(), terminal.sleep(REOPEN_MS, this.#done.signal)]);
      if (!this.#ended) continue;
      // Of an allocation that was lost, the end of its output is not the run's.
      if (whole === null || whole !== (await this.#exit()).allocation)
        await relayRest(this.#api, terminal, source, { ...options, place, follow: false });
      return;
    }
  }

  /**
   * An allocation's output may be lost with its host, before or after its first byte. The run is placed again then, and the
   * output of its next allocation is read from offset 0. The run's result is its exit answer, not the state of its streams.
   * @returns the allocation whose output was read to its end; null: none was
   */
  async #relay(
    source: LogSource,
    options: RelayOptions & { readonly place: LogPlace },
  ): Promise<string | null> {
    try {
      return await relay(this.#api, this.#context.terminal, source, options);
    } catch (error) {
      const isLost = error instanceof ProblemError && OUTPUT_LOST.has(error.problem.code);
      if (!isLost && (!(error instanceof ProblemError) || options.place.allocation === null)) throw error;
      return null;
    }
  }

  /** While there is no output, prints why the run waits, whenever the reason changes. */
  async #explain(): Promise<void> {
    const { terminal } = this.#context;
    let printed = '';
    await terminal.sleep(WHY_AFTER_MS, this.#done.signal);
    while (!this.#done.signal.aborted && !this.#hasOutput) {
      const why = await this.#api.why(this.#name, { signal: this.#done.signal }).catch(() => null);
      const waits = why !== null && why.groups.some((group) => group.pending > 0);
      if (waits && why.summary !== printed && !this.#done.signal.aborted) this.#note((printed = why.summary));
      await terminal.sleep(WHY_EVERY_MS, this.#done.signal);
    }
  }

  async #stop(): Promise<void> {
    this.#note(`stopping ${this.#name.job}; interrupt again to leave it`);
    await this.#api
      .stop(this.#name, { signal: this.#done.signal })
      // It ended in the meantime: its end is printed.
      .catch((error: unknown) => this.#done.signal.aborted || this.#note(`not stopped: ${errorText(error)}`));
  }

  #note(text: string): void {
    this.#context.terminal.err(`moorage: ${text}\n`);
  }

  #codeOf(end: RunExit): number {
    const { exit } = end;
    if (exit?.code !== undefined) {
      // After a deadline or a stop the command may still exit with a code of its own.
      if (end.state !== 'complete' && end.state !== 'failed') this.#note(`${end.state}: ${end.reason}`);
      return exit.code;
    }
    if (exit?.signal !== undefined) {
      this.#note(`ended by ${exit.signal}: ${end.reason}`);
      return signalCode(exit);
    }
    if (end.allocation === null || end.host === null || end.host === '') {
      this.#note(`not placed: ${end.reason}`);
      return EXIT.unplaceable;
    }
    this.#note(`${end.state} on ${end.host}: ${end.reason}`);
    return EXIT.ownFault;
  }
}

function isAway(error: unknown): boolean {
  return error instanceof HttpError || (error instanceof ProblemError && error.problem.status >= 500);
}
