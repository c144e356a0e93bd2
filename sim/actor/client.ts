import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { namesOf, nameText } from '../../src/core/names/names.ts';
import { HttpError } from '../../src/ports/http.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { WantedMove } from '../../src/wire/plan/plan.ts';
import type { ApiAnswer, ApiCall } from '../history/facts.ts';
import type { Actor } from './actor.ts';
import type { Environment } from './environment.ts';
import type { ClientPorts } from './monitor-client.ts';
import { monitorClientActor } from './monitor-client.ts';

/** A request without an answer, or refused because the cell is busy, is repeated. */
const RETRY_MS = 1_000;
/** So often at most. */
const TRIES_MAX = 20;

/** A job that a client submits, or a one-off run. `file` is a job file. */
export interface Request {
  readonly atMs: number;
  readonly kind: 'submit' | 'run';
  readonly name: string;
  readonly file: Readonly<Record<string, unknown>>;
  /** The job is stopped so long after it was accepted; null: never. */
  readonly stopAfterMs: number | null;
}

/** What an operator does to a host. A drain may have a deadline, so long after it began. */
export interface HostAction {
  readonly atMs: number;
  readonly host: string;
  readonly state: 'ready' | 'cordoned' | 'draining';
  readonly deadlineMs?: number;
}

export interface ClientParts {
  readonly name: string;
  readonly monitors: readonly string[];
  readonly requests: readonly Request[];
  /** A request is over: answered, refused or given up, and its job stopped where it says so. */
  readonly onServed: () => void;
  /** What hosts share, set first of all. */
  readonly shared: readonly SharedResource[];
  /** What it does as the cell's operator. */
  readonly hostActions: readonly HostAction[];
  readonly movesAtMs: readonly number[];
  /** When the store was restored: all that was accepted is submitted again. */
  readonly restoredMs: readonly number[];
}

/** Makes requests to the cell's monitors, each at its time, and repeats one while its answer is unknown. */
export function clientActor(environment: Environment, parts: ClientParts): Actor {
  return monitorClientActor(environment, parts.name, parts.monitors, (ports) => {
    const { clock } = ports;
    const requester = new Requester(ports);
    const at = (atMs: number, act: () => void): void => void clock.after(atMs - clock.monotonicMs(), act);
    void requester.share(parts.shared);
    for (const action of parts.hostActions) at(action.atMs, () => void requester.setEligibility(action));
    for (const atMs of parts.movesAtMs) at(atMs, () => void requester.move());
    for (const request of parts.requests)
      at(request.atMs, () => void requester.serve(request).then(parts.onServed));
    for (const atMs of parts.restoredMs)
      at(atMs + RETRY_MS, () => {
        void requester.share(parts.shared);
        void requester.resubmit();
      });
  });
}

/** Of one rebalance. */
const MOVES_AT_ONCE = 3;
const MOVE_TRIES = 8;

class Requester {
  readonly #ports: ClientPorts;
  readonly #lastAction = new Map<string, HostAction>();
  /** What was accepted, and whether its stop was, too. */
  readonly #accepted: { readonly request: Request; readonly ref: Ref; stopped: boolean }[] = [];

  constructor(ports: ClientPorts) {
    this.#ports = ports;
  }

  /** Repeated until it is done: without the resource no job that asks for it is ever placed. */
  async share(resources: readonly SharedResource[]): Promise<void> {
    const { client } = this.#ports;
    for (const { name, ...rest } of resources) await this.#untilDone(() => client.setShared(name, rest));
  }

  /** Repeated until it is done, or another action on the host is due. */
  async setEligibility(action: HostAction): Promise<void> {
    const { host, state, deadlineMs } = action;
    this.#lastAction.set(host, action);
    const request = { state, reason: 'test', ...(deadlineMs === undefined ? {} : { deadlineMs }) };
    const isWanted = (): boolean => this.#lastAction.get(host) === action;
    await this.#untilDone(() => this.#ports.client.setEligibility(host, request), isWanted);
  }

  /** What a rebalance proposes, and something beside. Whatever is refused or lost is not asked for again. */
  async move(): Promise<void> {
    const { client, random } = this.#ports;
    const plan = await client.plan({ rebalance: { budget: MOVES_AT_ONCE } }).catch(() => null);
    for (const { namespace, job, allocation, to } of plan?.moves ?? [])
      await this.#askToMove({ namespace, job }, { allocation, to });
    const all = await client.allocations({}).catch(() => null);
    const wanted = (all?.allocations ?? []).filter(({ allocation }) => allocation.desired === 'run');
    const first = random.below(Math.max(1, wanted.length));
    for (const { allocation } of [...wanted.slice(first), ...wanted.slice(0, first)].slice(0, MOVE_TRIES)) {
      const { namespace, job, id } = allocation;
      if (await this.#askToMove({ namespace, job }, { allocation: id })) return;
    }
  }

  /** @returns whether it was taken: batch tasks, and what an update is about to replace, are refused */
  async #askToMove(ref: Ref, move: WantedMove): Promise<boolean> {
    return await this.#ports.client.move(ref, { moves: [move], reason: 'test' }).then(
      () => true,
      () => false,
    );
  }

  async #untilDone(act: () => Promise<unknown>, isWanted = (): boolean => true): Promise<void> {
    while (isWanted()) {
      const done = await act().then(
        () => true,
        () => false,
      );
      if (done) return;
      await sleep(this.#ports.clock, RETRY_MS);
    }
  }

  async serve(request: Request): Promise<void> {
    const job = jobOf(request);
    const { kind, name, file, stopAfterMs } = request;
    const client = this.#ports.name;
    const accepted =
      kind === 'run'
        ? await this.#ask({ kind, client, key: name, job }, () => this.#run(file, name))
        : await this.#ask({ kind, client, job }, () => this.#ports.client.submit(file));
    if (accepted === null) return;
    const ref = { namespace: accepted.namespace, job: accepted.name };
    const memory = { request, ref, stopped: false };
    this.#accepted.push(memory);
    if (stopAfterMs === null) return;
    await sleep(this.#ports.clock, stopAfterMs);
    const stopped = await this.#ask({ kind: 'stop', client, ...ref }, () => this.#ports.client.stop(ref));
    memory.stopped = stopped !== null;
  }

  /** After a restore: the same specs in the same order, and the same stops. */
  async resubmit(): Promise<void> {
    const client = this.#ports.name;
    for (const { request, ref, stopped } of [...this.#accepted]) {
      if (request.kind === 'run') continue;
      const job = jobOf(request);
      await this.#ask({ kind: 'submit', client, job }, () => this.#ports.client.submit(request.file));
      if (stopped) await this.#ask({ kind: 'stop', client, ...ref }, () => this.#ports.client.stop(ref));
    }
  }

  async #run(file: unknown, key: string): Promise<Named> {
    const { namespace, job } = await this.#ports.client.run(file, key);
    return { namespace, name: job };
  }

  /** Every try is a call of its own in the history. @returns null when it was refused, or never answered */
  async #ask(call: ApiCall, send: () => Promise<Named>): Promise<Named | null> {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const answer = this.#ports.environment.history.called(call);
      try {
        const named = await send();
        answer({ result: 'ok', job: named.name, version: named.version ?? null });
        return named;
      } catch (error) {
        const failure = failureOf(error);
        answer(failure);
        if (failure.result === 'fail' && !BUSY.has(failure.status)) return null;
      }
      await sleep(this.#ports.clock, RETRY_MS);
    }
    return null;
  }
}

const BUSY: ReadonlySet<number> = new Set([408, 429, 503, 507]);

interface Ref {
  readonly namespace: string;
  readonly job: string;
}

interface Named {
  readonly namespace: string;
  readonly name: string;
  readonly version?: number;
}

function failureOf(error: unknown): Exclude<ApiAnswer, { readonly result: 'ok' }> {
  if (error instanceof ProblemError) {
    const { status, code } = error.problem;
    // The monitor does not know the outcome, or failed on the way.
    if (status >= 500 && !BUSY.has(status)) return { result: 'unknown', why: `${String(status)} ${code}` };
    return { result: 'fail', status, code };
  }
  if (!(error instanceof HttpError)) throw error;
  return error.sent
    ? { result: 'unknown', why: error.message }
    : { result: 'fail', status: 503, code: 'refused' };
}

/** The names of all ports that the requests' jobs have. */
export function namesIn(requests: readonly Request[]): readonly string[] {
  return [...new Set(requests.flatMap((request) => namesOf(jobOf(request)).map(nameText)))];
}

/** The parsed job of each file: a client submits the same one again and again. */
const PARSED = new WeakMap<Request['file'], Job>();

function jobOf({ file }: Request): Job {
  const known = PARSED.get(file);
  if (known !== undefined) return known;
  const reading = parseJobObject(file);
  if (reading.ok) {
    PARSED.set(file, reading.job);
    return reading.job;
  }
  throw new Error(`the scenario wrote a bad job: ${JSON.stringify(reading.problems)}`);
}
