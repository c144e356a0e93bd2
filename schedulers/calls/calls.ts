import type { RemoveOutcome, StartOutcome, StopOutcome } from '../../src/clients/host-client.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { HttpError } from '../../src/ports/http.ts';
import { CallPlaces, LATE_MS } from './call-permits.ts';
import type { CallKind, WaitingCall } from './host-queue.ts';
import { CALL_KINDS, HostLine } from './host-queue.ts';

/**
 * Orders at once that are not late, and as many questions. Of late ones there are 3,200 of each at most: so many every 200 ms, for the 5 s
 * of their deadline.
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
/** @param address of the host when its turn has come: it may have moved while the call waited */
type Make<T> = (address: string) => Promise<T>;

/**
 * All calls to hosts, whatever they are for, so that hosts which do not answer hold up nobody else. Hosts that have something to be
 * told take turns at 128 places, and a call gives its place up as soon as it is late. A host is sent two calls at once until it
 * answers, and sixteen while it does. A call without an answer makes it silent, until it answers, or for a minute: it is
 * told one thing at a time, at one of 32 other places. Orders and questions have all of this apart, so that no order waits for a question.
 *
 * Nothing is sent by a term that is over, to a host that is not registered, nor to where a host is no longer.
 */
export class HostCalls {
  readonly #parts: HostCallsParts;
  /** Of hosts with calls, and of those held for silent. */
  readonly #lines = new Map<string, HostLine>();
  readonly #lanes: Readonly<Record<CallKind, Lanes>> = { order: newLanes(), question: newLanes() };
  /** Held for silent, in the order in which that ends. */
  readonly #held = new Set<HostLine>();
  #cancelHeld: (() => void) | null = null;

  constructor(parts: HostCallsParts) {
    this.#parts = parts;
  }

  /** What waits is not sent any more. After `signal` was aborted. */
  close(): void {
    this.#cancelHeld?.();
    this.#held.clear();
    for (const line of this.#lines.values()) line.skipWaiting();
    for (const kind of CALL_KINDS) for (const { turns } of this.#lanes[kind].both) turns.clear();
  }

  /** Did the host not answer what it was asked lately? */
  isSilent(host: string): boolean {
    const line = this.#lines.get(host);
    line?.isAt(this.#parts.addressOf(host));
    return line?.isSilent(this.#nowMs) ?? false;
  }

  /** What is known of the host's place has changed: what waits for it need not wait for its old one. */
  hostChanged(host: string): void {
    const line = this.#lines.get(host);
    if (line !== undefined) this.#serveAll(line);
  }

  /**
   * Gives the order when its turn has come.
   * @param isWanted asked then, which may take long
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

  /** For what an order hangs on: asks the host when the turn of an order has come, otherwise as `ask`. @throws as `make` */
  askFirst<T>(host: string, isWanted: () => boolean, make: Make<T>): Promise<T | undefined> {
    return this.#wait('order', host, isWanted, make);
  }

  /**
   * Asks when the turn has come.
   * @param isWanted asked then, which may take long
   * @returns undefined: it was not asked, and will not be
   * @throws as `make`
   */
  ask<T>(host: string, isWanted: () => boolean, make: Make<T>): Promise<T | undefined> {
    return this.#wait('question', host, isWanted, make);
  }

  /** For what can as well be asked at another time. @returns null: it would have to wait, and is not asked */
  askNow<T>(host: string, make: Make<T>): Promise<T> | null {
    const nowMs = this.#nowMs;
    const line = this.#lineOf(host);
    const address = this.#addressFor(line);
    const lanes = this.#lanes.question;
    const { places, turns } = line.isSilent(nowMs) ? lanes.toSilent : lanes.toAnswering;
    const othersWait = line.waiting.question.length > 0 || turns.size > 0;
    const mayGo = !othersWait && places.isFree(nowMs) && line.mayTake('question', nowMs);
    if (mayGo && address !== undefined) return this.#send('question', line, places, () => make(address));
    this.#dropIdle(line, nowMs);
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
      const line = this.#lineOf(host);
      line.waiting[kind].push({
        isWanted,
        send: (places, address) => resolve(this.#send(kind, line, places, () => make(address), isAnswer)),
        skip: () => resolve(undefined),
      });
      this.#serveAll(line);
    });
  }

  async #send<T>(
    kind: CallKind,
    line: HostLine,
    places: CallPlaces,
    make: () => Promise<T>,
    isAnswer = (_result: T): boolean => true,
  ): Promise<T> {
    const call = { kind, startedMs: this.#nowMs };
    places.take(call);
    line.sent(call);
    let isAnswered = true;
    try {
      const result = await make();
      isAnswered = isAnswer(result);
      return result;
    } catch (error) {
      // Whatever else is thrown, something came back.
      isAnswered = !(error instanceof HttpError);
      throw error;
    } finally {
      places.leave(call);
      line.over(call, isAnswered, this.#nowMs);
      if (!this.#parts.signal.aborted) this.#hold(line);
      this.#serveAll(line);
    }
  }

  /** @param changed there is one more call to it, or one less, or it has moved, or time has passed */
  #serveAll(changed: HostLine): void {
    if (this.#parts.signal.aborted) {
      changed.skipWaiting();
      return;
    }
    this.#addressFor(changed);
    for (const kind of CALL_KINDS) {
      this.#queue(kind, changed, this.#nowMs);
      this.#serveKind(kind);
    }
    this.#dropIdle(changed, this.#nowMs);
  }

  #serveKind(kind: CallKind): void {
    const nowMs = this.#nowMs;
    const { toAnswering, both } = this.#lanes[kind];
    for (const { turns, places } of both)
      for (const line of turns) {
        // Before its turn came it may have become silent.
        const isMisplaced = turns === toAnswering.turns && line.isSilent(nowMs);
        if (!isMisplaced && !places.isFree(nowMs)) break;
        turns.delete(line);
        if (!isMisplaced) this.#serve(kind, line, places, nowMs);
        this.#queue(kind, line, nowMs);
        this.#dropIdle(line, nowMs);
      }
    if (toAnswering.turns.size > 0) this.#lookAgain(kind, nowMs);
  }

  /** The host's turn will come, if it may be sent what waits for it. Otherwise it comes when a call to it has ended. */
  #queue(kind: CallKind, line: HostLine, nowMs: number): void {
    if (line.waiting[kind].length === 0 || !line.mayTake(kind, nowMs)) return;
    const { toAnswering, toSilent } = this.#lanes[kind];
    const [here, there] = line.isSilent(nowMs) ? [toSilent, toAnswering] : [toAnswering, toSilent];
    there.turns.delete(line);
    here.turns.add(line);
  }

  /** Sends the host the first call that is still wanted. */
  #serve(kind: CallKind, line: HostLine, places: CallPlaces, nowMs: number): void {
    const address = this.#addressFor(line);
    if (!line.mayTake(kind, nowMs)) return;
    const waiting = line.waiting[kind];
    for (let call: WaitingCall | undefined = waiting.first; call !== undefined; call = waiting.first) {
      waiting.shift();
      if (address !== undefined && !this.#parts.signal.aborted && call.isWanted()) {
        call.send(places, address);
        return;
      }
      call.skip();
    }
  }

  /** When a call is late, its place is free. */
  #lookAgain(kind: CallKind, nowMs: number): void {
    const lanes = this.#lanes[kind];
    if (lanes.isLookSet) return;
    lanes.isLookSet = true;
    this.#parts.clock.after(lanes.toAnswering.places.freeInMs(nowMs), () => {
      lanes.isLookSet = false;
      if (!this.#parts.signal.aborted) this.#serveKind(kind);
    });
  }

  /** When its silence is over, what waits for it goes among those that answer, and it is forgotten if nothing does. */
  #hold(line: HostLine): void {
    this.#held.delete(line);
    const leftMs = line.silentUntilMs - this.#nowMs;
    if (leftMs <= 0) return;
    this.#held.add(line);
    this.#cancelHeld ??= this.#parts.clock.after(leftMs, () => this.#letGo());
  }

  #letGo(): void {
    this.#cancelHeld = null;
    const nowMs = this.#nowMs;
    for (const line of this.#held) {
      if (line.silentUntilMs > nowMs) {
        this.#cancelHeld = this.#parts.clock.after(line.silentUntilMs - nowMs, () => this.#letGo());
        return;
      }
      this.#held.delete(line);
      this.#serveAll(line);
    }
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  #lineOf(host: string): HostLine {
    let line = this.#lines.get(host);
    if (line === undefined) this.#lines.set(host, (line = new HostLine(host, this.#parts.addressOf(host))));
    return line;
  }

  /** Where the host is now, which its line is told. */
  #addressFor(line: HostLine): string | undefined {
    const address = this.#parts.addressOf(line.host);
    line.isAt(address);
    return address;
  }

  #dropIdle(line: HostLine, nowMs: number): void {
    if (!line.isIdle || line.isSilent(nowMs)) return;
    // One that was let go of may have a successor, and hear of the ends of its calls later.
    if (this.#lines.get(line.host) === line) this.#lines.delete(line.host);
  }
}

/** Of one kind of call: places, and the hosts that take turns at them. */
interface Lane {
  readonly places: CallPlaces;
  readonly turns: Set<HostLine>;
}

interface Lanes {
  readonly toAnswering: Lane;
  readonly toSilent: Lane;
  readonly both: readonly Lane[];
  isLookSet: boolean;
}

function newLanes(): Lanes {
  const toAnswering = { places: new CallPlaces(CALLS_MAX, LATE_MS), turns: new Set<HostLine>() };
  const forAsLong = Number.POSITIVE_INFINITY;
  const toSilent = { places: new CallPlaces(TO_SILENT_MAX, forAsLong), turns: new Set<HostLine>() };
  return { toAnswering, toSilent, both: [toAnswering, toSilent], isLookSet: false };
}
