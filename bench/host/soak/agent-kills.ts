import { readFile } from 'node:fs/promises';
import { webSocketClient } from '../../../src/adapters/http/channel-client.ts';
import { undiciClient } from '../../../src/adapters/http/client.ts';
import { systemClock, systemRandom } from '../../../src/adapters/system/system.ts';
import { AttachSession } from '../../../src/clients/attach-session.ts';
import { HostClient } from '../../../src/clients/host-client.ts';
import { seededRandom } from '../../../src/core/random/random.ts';
import type { Random } from '../../../src/ports/random.ts';
import { HttpError } from '../../../src/ports/http.ts';
import type { AttachEnd, AttachState } from '../../../src/wire/api/attach-frames.ts';
import type { CommandStatus } from '../../../src/wire/api/exec-api.ts';
import { ProblemError } from '../../../src/wire/api/problem.ts';
import { startOf } from '../host-orders.ts';
import type { AgentProcess, Birth } from '../host-process.ts';
import { ECHO, EchoCheck, EXIT_CODE, SIGNAL } from './echo.ts';
import type { Moment } from './lives.ts';
import { AgentLives, pause } from './lives.ts';

export interface KillsOptions {
  /** So many, or one more. */
  readonly kills: number;
  readonly seed: number;
  /** Starts an agent on the one folder of this run. */
  readonly begin: () => Birth;
  /** What a client types, and how often it signals, in one life of an agent at most. */
  readonly linesPerLife: number;
  readonly signalsPerLife: number;
  /** Ends the kills; what was done so far is compared to its end. */
  readonly stop?: AbortSignal;
  readonly onKill?: (progress: KillsProgress) => void;
}

export interface KillsProgress {
  readonly kills: number;
  readonly moment: Moment;
  readonly lines: number;
  readonly signals: number;
  readonly retries: number;
}

export interface KillsResult {
  readonly kills: number;
  readonly retries: number;
  readonly lines: number;
  readonly inputMatches: boolean;
  readonly outputBytes: number;
  readonly outputMatches: boolean;
  /** The first line that came otherwise than it must. */
  readonly wrong: string | null;
  readonly signalsSent: number;
  readonly signalsReceived: number;
  readonly end: AttachEnd | null;
  /** Starts of the command, as it saw them itself. */
  readonly runs: number;
  /** Ends of short commands that were ordered, and often ordered again, while agents died. */
  readonly commands: { readonly ordered: number; readonly ranOnce: number; readonly wrong: string | null };
}

export function isExact({ end, runs, commands, ...found }: KillsResult): boolean {
  const once = end?.exit.code === EXIT_CODE && runs === 1 && commands.ranOnce === commands.ordered;
  return once && found.inputMatches && found.outputMatches && found.signalsReceived === found.signalsSent;
}

/** Nothing that clients do takes so long, however busy the machine. */
const STUCK_MS = 300_000;
const LOOK_MS = 5;
const TASK = 'echo';
const LINE_BYTES_MAX = 60;

/** Kills the agent again and again while a task is written to, writes, and is signalled; then compares every byte. */
export function killAgents(options: KillsOptions, folder: string): Promise<KillsResult> {
  return new Soak(options, folder).run();
}

/** One task on one host, its clients, and the agents that die between them. */
class Soak {
  readonly #options: KillsOptions;
  /** Of the task. */
  readonly #work: string;
  readonly #random: Random;
  readonly #http = undiciClient();
  readonly #client = new HostClient(this.#http, { timeoutMs: 5_000 });
  readonly #echo = new EchoCheck();
  readonly #session: AttachSession;
  readonly #answers: Promise<unknown>[] = [];
  readonly #commands: { ordered: number; ranOnce: number; wrong: string | null } = {
    ...{ ordered: 0, ranOnce: 0, wrong: null },
  };
  #lives!: AgentLives;
  /** Where the session and the task were when the agent that serves now began to. */
  #atBirth: { readonly state: AttachState | null; readonly echoed: number; readonly atMs: number } = {
    ...{ state: null, echoed: 0, atMs: 0 },
  };
  /** When each of the questions was asked that have no answer yet. */
  readonly #asked = new Set<number>();
  #signals = 0;
  #retries = 0;
  #over = false;

  constructor(options: KillsOptions, folder: string) {
    this.#options = options;
    this.#work = `${folder}/allocations/${TASK}/work`;
    this.#random = seededRandom(options.seed);
    this.#session = new AttachSession(
      { allocation: TASK },
      {
        channels: webSocketClient(),
        clock: systemClock,
        random: systemRandom,
        addresses: () => this.#lives.addresses,
        outageMaxMs: STUCK_MS,
        onOutput: (stream, bytes) => {
          if (stream === 'stdout') this.#echo.take(bytes);
        },
      },
    );
  }

  async run(): Promise<KillsResult> {
    const { begin } = this.#options;
    this.#lives = await AgentLives.begin({ begin, random: this.#random, talked: () => this.#talked() });
    try {
      return await this.#run();
    } finally {
      this.#over = true;
      await this.#lives.end();
      await this.#http.close();
    }
  }

  async #run(): Promise<KillsResult> {
    const witness = `${this.#work}/witness`;
    await this.#ask((client, address) =>
      client.start(address, startOf(TASK, ['python3', '-c', ECHO], { WITNESS: witness }, true)),
    );
    // Before, there is nothing to be attached to.
    while ((await this.#ask((client, address) => client.get(address, TASK)))?.state !== 'running')
      await pause(4 * LOOK_MS);
    const attached = this.#session.run(AbortSignal.timeout(MAX_DELAY_MS));
    await Promise.race([this.#echo.ready, attached]);
    await Promise.race([this.#everything(), attached.then(() => this.#tooEarly())]);
    this.#session.endInput();
    const end = await attached;
    const commands = { ...this.#commands };
    const { inputMatches, outputMatches, bytes: outputBytes, wrong, typed: lines } = this.#echo;
    const result: KillsResult = {
      ...{ kills: this.#lives.kills, retries: this.#retries, lines, end, commands },
      ...{ inputMatches, outputMatches, outputBytes, wrong },
      ...{ signalsSent: this.#signals, signalsReceived: this.#echo.signals },
      runs: ((await textOf(witness)) ?? '').split('\n').length - 1,
    };
    await this.#ask((client, address) => client.remove(address, TASK, 'remove'));
    return result;
  }

  async #everything(): Promise<void> {
    await Promise.all([this.#kill(), this.#type(), this.#signal(), this.#order()]);
    await Promise.all(this.#answers);
  }

  #tooEarly(): void {
    if (!this.#over) throw new Error('the task ended while it was typed to');
  }

  async #kill(): Promise<void> {
    const { kills, stop, onKill } = this.#options;
    while (this.#lives.kills < kills && stop?.aborted !== true) {
      const moment = await this.#lives.die();
      this.#atBirth = {
        ...{ state: this.#session.state, echoed: this.#echo.echoed, atMs: performance.now() },
      };
      const { typed: lines } = this.#echo;
      onKill?.({
        ...{ kills: this.#lives.kills, moment, lines, signals: this.#signals, retries: this.#retries },
      });
    }
    this.#over = true;
  }

  /** Bursts with quiet between them, so that agents die in both. */
  async #type(): Promise<void> {
    const { linesPerLife } = this.#options;
    while (!this.#over) {
      const left = (this.#lives.kills + 1) * linesPerLife - this.#echo.typed;
      const burst = Math.min(left, Math.ceil((this.#random.fraction() * linesPerLife) / 4));
      for (let n = 0; n < burst; n++)
        await this.#session.write(
          this.#echo.next('x'.repeat(Math.floor(this.#random.fraction() * LINE_BYTES_MAX))),
        );
      await pause(burst > 0 ? 20 * this.#random.fraction() : LOOK_MS);
    }
  }

  async #signal(): Promise<void> {
    const { signalsPerLife } = this.#options;
    while (!this.#over) {
      if (this.#signals < (this.#lives.kills + 1) * signalsPerLife) {
        this.#signals += 1;
        const order = { commandId: `sig-${String(this.#signals)}`, signal: SIGNAL };
        this.#answer(this.#session.signal(order));
        // Sent twice, over two ways, it is one signal.
        if (this.#random.fraction() < 0.3)
          this.#answer(this.#ask((client, address) => client.signal(address, TASK, order)));
      }
      await pause(10 + 40 * this.#random.fraction());
    }
  }

  /** Awaited at the end, where a failure is thrown. */
  #answer(answer: Promise<unknown>): void {
    answer.catch(() => undefined);
    this.#answers.push(answer);
  }

  async #order(): Promise<void> {
    while (!this.#over) {
      this.#commands.ordered += 1;
      const commandId = `c${String(this.#commands.ordered)}`;
      const log = `${this.#work}/command-${commandId}`;
      const request = { commandId, command: ['sh', '-c', `echo run >> '${log}'`] };
      for (let twice = 0; twice < 2; twice++)
        await this.#ask((client, address) => client.exec(address, TASK, request));
      const status = await this.#ended(commandId);
      const witness = await textOf(log);
      if (witness === 'run\n') this.#commands.ranOnce += 1;
      else this.#commands.wrong ??= JSON.stringify({ status, said: witness });
      await pause(500 * this.#random.fraction());
    }
  }

  async #ended(commandId: string): Promise<CommandStatus> {
    for (;;) {
      const status = await this.#ask((client, address) => client.command(address, TASK, commandId));
      if (status.state === 'ended') return status;
      await pause(4 * LOOK_MS);
    }
  }

  /** Input went to the task, and came back, through the agent that serves now; and what was asked before is answered. */
  async #talked(): Promise<void> {
    const { state, echoed, atMs } = this.#atBirth;
    for (let waitedMs = 0; waitedMs < STUCK_MS; waitedMs += LOOK_MS) {
      const isEchoed = this.#echo.echoed > echoed || this.#echo.echoed === this.#echo.typed;
      const isAnswered = [...this.#asked].every((sinceMs) => sinceMs > atMs);
      if (this.#session.state !== state && isEchoed && isAnswered) return;
      await pause(LOOK_MS);
    }
    throw new Error(`no client got through for ${String(STUCK_MS / 1000)} s; ${this.#where()}`);
  }

  #where(): string {
    const { typed, echoed } = this.#echo;
    return `${String(typed)} lines typed, ${String(echoed)} came back, ${String(this.#signals)} signals`;
  }

  /** As any client of a host does: the same order, until there is an answer, of whichever agent serves. */
  async #ask<T>(call: Call<T>): Promise<T> {
    const sinceMs = performance.now();
    this.#asked.add(sinceMs);
    try {
      for (;;) {
        const agent = await this.#lives.serving();
        const answer = await this.#tryOnce(call, agent, performance.now() > sinceMs + STUCK_MS);
        if (answer !== UNKNOWN) return answer;
        this.#retries += 1;
        if (this.#lives.isServing(agent)) await pause(4 * LOOK_MS);
      }
    } finally {
      this.#asked.delete(sinceMs);
    }
  }

  /** @returns `UNKNOWN` when its outcome is not known. @throws for a lasting error, and at the last try */
  async #tryOnce<T>(call: Call<T>, { address }: AgentProcess, isLast: boolean): Promise<T | typeof UNKNOWN> {
    try {
      const answer = await call(this.#client, address);
      if (!isUnknown(answer)) return answer;
      if (isLast) throw new Error(`no agent answers: ${JSON.stringify(answer)}`);
    } catch (error) {
      const passes =
        error instanceof ProblemError && (error.problem.status >= 500 || error.problem.status === 408);
      if (isLast || (!(error instanceof HttpError) && !passes)) throw error;
    }
    return UNKNOWN;
  }
}

type Call<T> = (client: HostClient, address: string) => Promise<T>;
const UNKNOWN = Symbol('unknown');

/** The longest that a timer can take. */
const MAX_DELAY_MS = 2 ** 31 - 1;

function isUnknown(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'unknown';
}

function textOf(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(() => null);
}
