import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { HttpError } from '../../src/ports/http.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { ApiAnswer, ApiCall } from '../history/facts.ts';
import { SimNetwork } from '../network/network.ts';
import type { LifePorts } from './actor.ts';
import { Actor } from './actor.ts';
import type { Environment } from './environment.ts';

/** A person asks again when nobody answered, or somebody had no time. */
const AGAIN_MS = 1_000;
/** Then gives up. */
const TRIES_MAX = 20;

/** One thing that a client asks for. `file` is a job file. */
export interface Request {
  readonly atMs: number;
  readonly kind: 'submit' | 'run';
  readonly name: string;
  readonly file: Readonly<Record<string, unknown>>;
  /** Asks for the job's end so long after it was accepted; null: never. */
  readonly stopAfterMs: number | null;
}

/** What an operator says of a host. A drain may have a deadline, so long after it was said. */
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
  /** A request has come to its end: answered, refused or given up, and stopped where it wanted that. */
  readonly onServed: () => void;
  /** What hosts share, said at once. */
  readonly shared: readonly SharedResource[];
  /** What it says of hosts as their operator. */
  readonly hostActions: readonly HostAction[];
  /** When the store was restored: everybody hands in again what should be there. */
  readonly restoredMs: readonly number[];
}

/** Somebody who asks the cell's monitors for things, each at its time, and asks again while the answer is unknown. */
export function clientActor(environment: Environment, parts: ClientParts): Actor {
  return new Actor(environment, {
    name: parts.name,
    role: 'client',
    boot: (ports) => {
      const http = environment.network.client({ life: ports.life, clock: ports.clock, log: ports.log });
      const urls = parts.monitors.map((monitor) => SimNetwork.addressOf(monitor));
      const client = new MonitorClient(http, { urls, from: parts.name });
      const asker = new Asker(environment, parts.name, client, ports);
      void asker.share(parts.shared);
      for (const verdict of parts.hostActions)
        ports.clock.after(verdict.atMs - ports.clock.monotonicMs(), () => void asker.judge(verdict));
      for (const request of parts.requests)
        ports.clock.after(
          request.atMs - ports.clock.monotonicMs(),
          () => void asker.serve(request).then(parts.onServed),
        );
      for (const atMs of parts.restoredMs)
        ports.clock.after(atMs + AGAIN_MS - ports.clock.monotonicMs(), () => {
          void asker.share(parts.shared);
          void asker.repeat();
        });
      return Promise.resolve();
    },
  });
}

class Asker {
  readonly #environment: Environment;
  readonly #name: string;
  readonly #client: MonitorClient;
  readonly #ports: LifePorts;
  /** What was said of each host last. */
  readonly #judged = new Map<string, HostAction>();
  /** What was accepted, and whether its end was. */
  readonly #accepted: { readonly request: Request; readonly ref: Ref; stopped: boolean }[] = [];

  constructor(environment: Environment, name: string, client: MonitorClient, ports: LifePorts) {
    this.#environment = environment;
    this.#name = name;
    this.#client = client;
    this.#ports = ports;
  }

  /** An operator does not give up: without it nobody who asks for some of it is ever placed. */
  async share(resources: readonly SharedResource[]): Promise<void> {
    for (const { name, ...rest } of resources)
      for (;;) {
        const done = await this.#client.setShared(name, rest).then(
          () => true,
          () => false,
        );
        if (done) break;
        await sleep(this.#ports.clock, AGAIN_MS);
      }
  }

  /** Until it is done, or another was said of the host meanwhile. */
  async judge(verdict: HostAction): Promise<void> {
    const { host, state, deadlineMs } = verdict;
    this.#judged.set(host, verdict);
    const request = { state, reason: 'test', ...(deadlineMs === undefined ? {} : { deadlineMs }) };
    while (this.#judged.get(host) === verdict) {
      const done = await this.#client.setEligibility(host, request).then(
        () => true,
        () => false,
      );
      if (done) break;
      await sleep(this.#ports.clock, AGAIN_MS);
    }
  }

  async serve(request: Request): Promise<void> {
    const job = jobOf(request);
    const { kind, name, file, stopAfterMs } = request;
    const client = this.#name;
    const accepted =
      kind === 'run'
        ? await this.#ask({ kind, client, key: name, job }, () => this.#run(file, name))
        : await this.#ask({ kind, client, job }, () => this.#client.submit(file));
    if (accepted === null) return;
    const ref = { namespace: accepted.namespace, job: accepted.name };
    const memory = { request, ref, stopped: false };
    this.#accepted.push(memory);
    if (stopAfterMs === null) return;
    await sleep(this.#ports.clock, stopAfterMs);
    const stopped = await this.#ask({ kind: 'stop', client, ...ref }, () => this.#client.stop(ref));
    memory.stopped = stopped !== null;
  }

  /** The store may have forgotten what was accepted: the same specs in the same order, and the same ends. */
  async repeat(): Promise<void> {
    const client = this.#name;
    for (const { request, ref, stopped } of [...this.#accepted]) {
      if (request.kind === 'run') continue;
      const job = jobOf(request);
      await this.#ask({ kind: 'submit', client, job }, () => this.#client.submit(request.file));
      if (stopped) await this.#ask({ kind: 'stop', client, ...ref }, () => this.#client.stop(ref));
    }
  }

  async #run(file: unknown, key: string): Promise<Named> {
    const { namespace, job } = await this.#client.run(file, key);
    return { namespace, name: job };
  }

  /** Every try is a call of its own in the history. @returns null when it was refused, or nobody ever answered */
  async #ask(call: ApiCall, send: () => Promise<Named>): Promise<Named | null> {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const answer = this.#environment.history.called(call);
      try {
        const named = await send();
        answer({ result: 'ok', job: named.name, version: named.version ?? null });
        return named;
      } catch (error) {
        const failure = failureOf(error);
        answer(failure);
        if (failure.result === 'fail' && !BUSY.has(failure.status)) return null;
      }
      await sleep(this.#ports.clock, AGAIN_MS);
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
    // The server says that it does not know, or broke while it worked.
    if (status >= 500 && !BUSY.has(status)) return { result: 'unknown', why: `${String(status)} ${code}` };
    return { result: 'fail', status, code };
  }
  if (!(error instanceof HttpError)) throw error;
  return error.sent
    ? { result: 'unknown', why: error.message }
    : { result: 'fail', status: 503, code: 'refused' };
}

/** What was read of each file: a client hands in the same one again and again. */
const READ = new WeakMap<Request['file'], Job>();

function jobOf({ file }: Request): Job {
  const known = READ.get(file);
  if (known !== undefined) return known;
  const reading = parseJobObject(file);
  if (reading.ok) {
    READ.set(file, reading.job);
    return reading.job;
  }
  throw new Error(`the scenario wrote a bad job: ${JSON.stringify(reading.problems)}`);
}
