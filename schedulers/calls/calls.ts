/**
 * All calls to hosts, whatever they are for: hosts that do not answer hold up no others.
 *
 * 1. A call waits in the `HostQueue` of its host (`host-queue.ts`), which bounds the calls to one host: two until it answers,
 *    sixteen while it does, one while it is silent.
 * 2. Hosts with calls to send take turns at 128 permits (`call-permits.ts`); a call loses its permit when it is late, and its
 *    answer still counts. Silent hosts share 32 permits of their own.
 * 3. A call that ends without an answer makes its host silent, until it answers, or for a minute. A refusal, and a failure
 *    within 2 s, count as answers.
 *
 * Orders (a host is to do something, or an order depends on the answer) and questions have queues and permits of their own,
 * since no order may wait for a question that a silent host leaves open for 5 s. Whether a call is still wanted is asked when
 * it is sent. Nothing is sent by a term that is over, to a host that is not registered, or to an address that the host has left.
 * `wait-queue.ts` is the queue itself. See `docs/decisions/orders-to-hosts.md`.
 */
import type { RemoveOutcome, StartOutcome, StopOutcome } from '../../src/clients/host-client.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { HttpError } from '../../src/ports/http.ts';
import { CallPermits, LATE_MS } from './call-permits.ts';
import type { CallKind, WaitingCall } from './host-queue.ts';
import { CALL_KINDS, HostQueue } from './host-queue.ts';

/**
 * Orders at once that are not late, and as many questions. Late calls of each are 3,200 at most: so many every 200 ms, for the
 * 5 s of their deadline.
 */
const CALLS_MAX = 128;
/** Orders at once to hosts that are silent, and as many questions. */
const TO_SILENT_MAX = 32;

export interface HostCallsParts {
  readonly clock: Clock;
  /** Where a host is at this moment. @returns undefined: it is not registered */
  readonly addressOf: (host: string) => string | undefined;
  /** When it is aborted, nothing is sent any more. */
  readonly signal: AbortSignal;
}

type OrderOutcome = StartOutcome | StopOutcome | RemoveOutcome;
/** @param address of the host when the call is sent: it may have moved while the call waited */
type Make<T> = (address: string) => Promise<T>;

/** Sends calls to hosts in turn; see the head of this file. */
export class HostCalls {
  readonly #parts: HostCallsParts;
  /** Of hosts with calls, and of silent hosts. */
  readonly #queues = new Map<string, HostQueue>();
  readonly #lanes: Readonly<Record<CallKind, Lanes>> = { order: newLanes(), question: newLanes() };
  /** Silent hosts, in the order in which their silence ends. */
  readonly #silent = new Set<HostQueue>();
  #cancelSilent: (() => void) | null = null;

  constructor(parts: HostCallsParts) {
    this.#parts = parts;
  }

  /** Waiting calls are dropped. After `signal` was aborted. */
  close(): void {
    this.#cancelSilent?.();
    this.#silent.clear();
    for (const queue of this.#queues.values()) queue.skipWaiting();
    for (const kind of CALL_KINDS) for (const { hosts } of this.#lanes[kind].both) hosts.clear();
  }

  /** Did a call to the host lately end without an answer? */
  isSilent(host: string): boolean {
    const queue = this.#queues.get(host);
    queue?.movedTo(this.#parts.addressOf(host));
    return queue?.isSilent(this.#nowMs) ?? false;
  }

  /** The host's record has changed: its calls need not wait for its old address. */
  hostChanged(host: string): void {
    const queue = this.#queues.get(host);
    if (queue !== undefined) this.#serveAll(queue);
  }

  /**
   * Sends the order in its turn.
   * @param isWanted asked when it is sent, which may be long after this call
   * @returns undefined: it was not sent, and will not be
   */
  order<T extends OrderOutcome>(
    host: string,
    isWanted: () => boolean,
    make: Make<T>,
  ): Promise<T | undefined> {
    const isAnswer = (outcome: T): boolean => outcome.kind !== 'unknown' || outcome.answered;
    return this.#wait('order', host, isWanted, make, isAnswer);
  }

  /** For a question on which an order depends: sent in the turn of an order, otherwise as `ask`. @throws as `make` */
  askFirst<T>(host: string, isWanted: () => boolean, make: Make<T>): Promise<T | undefined> {
    return this.#wait('order', host, isWanted, make);
  }

  /**
   * Sends the question in its turn.
   * @param isWanted asked when it is sent, which may be long after this call
   * @returns undefined: it was not sent, and will not be
   * @throws as `make`
   */
  ask<T>(host: string, isWanted: () => boolean, make: Make<T>): Promise<T | undefined> {
    return this.#wait('question', host, isWanted, make);
  }

  /** For a question that can be asked at another time. @returns null: it would have to wait, and is not sent */
  askNow<T>(host: string, make: Make<T>): Promise<T> | null {
    const nowMs = this.#nowMs;
    const queue = this.#queueOf(host);
    const address = this.#addressFor(queue);
    const lanes = this.#lanes.question;
    const { permits, hosts } = queue.isSilent(nowMs) ? lanes.toSilent : lanes.toAnswering;
    const othersWait = queue.waiting.question.length > 0 || hosts.size > 0;
    const mayGo = !othersWait && permits.isFree(nowMs) && queue.mayTake('question', nowMs);
    if (mayGo && address !== undefined) return this.#send('question', queue, permits, () => make(address));
    this.#dropIdle(queue, nowMs);
    return null;
  }

  #wait<T>(
    kind: CallKind,
    host: string,
    isWanted: () => boolean,
    make: Make<T>,
    isAnswer?: (result: T) => boolean,
  ): Promise<T | undefined> {
    return new Promise<T | undefined>((resolve) => {
      const queue = this.#queueOf(host);
      queue.waiting[kind].push({
        isWanted,
        send: (permits, address) => resolve(this.#send(kind, queue, permits, () => make(address), isAnswer)),
        skip: () => resolve(undefined),
      });
      this.#serveAll(queue);
    });
  }

  async #send<T>(
    kind: CallKind,
    queue: HostQueue,
    permits: CallPermits,
    make: () => Promise<T>,
    isAnswer = (_result: T): boolean => true,
  ): Promise<T> {
    const call = { kind, startedMs: this.#nowMs };
    permits.acquire(call);
    queue.sent(call);
    let isAnswered = true;
    try {
      const result = await make();
      isAnswered = isAnswer(result);
      return result;
    } catch (error) {
      // With any other error, something came back.
      isAnswered = !(error instanceof HttpError);
      throw error;
    } finally {
      permits.release(call);
      queue.ended(call, isAnswered, this.#nowMs);
      if (!this.#parts.signal.aborted) this.#watchSilence(queue);
      this.#serveAll(queue);
    }
  }

  /** @param changed its calls, its address or its silence changed */
  #serveAll(changed: HostQueue): void {
    if (this.#parts.signal.aborted) {
      changed.skipWaiting();
      return;
    }
    this.#addressFor(changed);
    for (const kind of CALL_KINDS) {
      this.#awaitPermit(kind, changed, this.#nowMs);
      this.#serveKind(kind);
    }
    this.#dropIdle(changed, this.#nowMs);
  }

  #serveKind(kind: CallKind): void {
    const nowMs = this.#nowMs;
    const { toAnswering, both } = this.#lanes[kind];
    for (const { hosts, permits } of both)
      for (const queue of hosts) {
        // It may have become silent while it waited for a permit.
        const isMisplaced = hosts === toAnswering.hosts && queue.isSilent(nowMs);
        if (!isMisplaced && !permits.isFree(nowMs)) break;
        hosts.delete(queue);
        if (!isMisplaced) this.#serve(kind, queue, permits, nowMs);
        this.#awaitPermit(kind, queue, nowMs);
        this.#dropIdle(queue, nowMs);
      }
    if (toAnswering.hosts.size > 0) this.#serveLater(kind, nowMs);
  }

  /** The host waits for a permit, if it may be sent more calls; otherwise it does when one of its calls has ended. */
  #awaitPermit(kind: CallKind, queue: HostQueue, nowMs: number): void {
    if (queue.waiting[kind].length === 0 || !queue.mayTake(kind, nowMs)) return;
    const { toAnswering, toSilent } = this.#lanes[kind];
    const [here, there] = queue.isSilent(nowMs) ? [toSilent, toAnswering] : [toAnswering, toSilent];
    there.hosts.delete(queue);
    here.hosts.add(queue);
  }

  #serve(kind: CallKind, queue: HostQueue, permits: CallPermits, nowMs: number): void {
    const address = this.#addressFor(queue);
    if (!queue.mayTake(kind, nowMs)) return;
    const waiting = queue.waiting[kind];
    for (let call: WaitingCall | undefined = waiting.first; call !== undefined; call = waiting.first) {
      waiting.shift();
      if (address !== undefined && !this.#parts.signal.aborted && call.isWanted()) {
        call.send(permits, address);
        return;
      }
      call.skip();
    }
  }

  /** Serves again when the oldest call is late and its permit free. */
  #serveLater(kind: CallKind, nowMs: number): void {
    const lanes = this.#lanes[kind];
    if (lanes.isTimerSet) return;
    lanes.isTimerSet = true;
    this.#parts.clock.after(lanes.toAnswering.permits.freeInMs(nowMs), () => {
      lanes.isTimerSet = false;
      if (!this.#parts.signal.aborted) this.#serveKind(kind);
    });
  }

  /** When its silence is over, its calls go among those to answering hosts; without calls it is forgotten. */
  #watchSilence(queue: HostQueue): void {
    this.#silent.delete(queue);
    const leftMs = queue.silentUntilMs - this.#nowMs;
    if (leftMs <= 0) return;
    this.#silent.add(queue);
    this.#cancelSilent ??= this.#parts.clock.after(leftMs, () => this.#endSilence());
  }

  #endSilence(): void {
    this.#cancelSilent = null;
    const nowMs = this.#nowMs;
    for (const queue of this.#silent) {
      if (queue.silentUntilMs > nowMs) {
        this.#cancelSilent = this.#parts.clock.after(queue.silentUntilMs - nowMs, () => this.#endSilence());
        return;
      }
      this.#silent.delete(queue);
      this.#serveAll(queue);
    }
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  #queueOf(host: string): HostQueue {
    let queue = this.#queues.get(host);
    if (queue === undefined)
      this.#queues.set(host, (queue = new HostQueue(host, this.#parts.addressOf(host))));
    return queue;
  }

  /** Where the host is now; its queue takes note of a move. */
  #addressFor(queue: HostQueue): string | undefined {
    const address = this.#parts.addressOf(queue.host);
    queue.movedTo(address);
    return address;
  }

  #dropIdle(queue: HostQueue, nowMs: number): void {
    if (!queue.isIdle || queue.isSilent(nowMs)) return;
    // A dropped queue may have a successor, and its calls may end later.
    if (this.#queues.get(queue.host) === queue) this.#queues.delete(queue.host);
  }
}

/** Permits, and the hosts that wait for one, in turn. */
interface Lane {
  readonly permits: CallPermits;
  readonly hosts: Set<HostQueue>;
}

interface Lanes {
  readonly toAnswering: Lane;
  readonly toSilent: Lane;
  readonly both: readonly Lane[];
  isTimerSet: boolean;
}

function newLanes(): Lanes {
  const toAnswering = { permits: new CallPermits(CALLS_MAX, LATE_MS), hosts: new Set<HostQueue>() };
  const forAsLong = Number.POSITIVE_INFINITY;
  const toSilent = { permits: new CallPermits(TO_SILENT_MAX, forAsLong), hosts: new Set<HostQueue>() };
  return { toAnswering, toSilent, both: [toAnswering, toSilent], isTimerSet: false };
}
