import type { Clock } from '../src/ports/clock.ts';
import { CallPlaces, LATE_MS } from './call-places.ts';
import type { WaitingCall } from './host-line.ts';
import { HostLine } from './host-line.ts';

/** Calls at once that are not late. Of late ones there are 3,200 at most: so many every 200 ms, for the 5 s of their deadline. */
const CALLS_MAX = 128;
/** Calls at once to hosts that are silent. */
const TO_SILENT_MAX = 32;

/**
 * All calls to hosts, whatever they are for, so that hosts which do not answer hold up nobody else. Hosts that have something to be
 * told take turns at 128 places, and a call gives its place up as soon as it is late. A host is sent two calls at once until it
 * answers, and sixteen while it does. One that brings no answer for two seconds is silent until it answers, or for a minute: it is
 * told one thing at a time, at one of 32 other places.
 */
export class HostCalls {
  readonly #clock: Clock;
  /** Of hosts with calls, and of those held for silent. */
  readonly #lines = new Map<string, HostLine>();
  readonly #toAnswering = { places: new CallPlaces(CALLS_MAX, LATE_MS), turns: new Set<HostLine>() };
  readonly #toSilent = {
    places: new CallPlaces(TO_SILENT_MAX, Number.POSITIVE_INFINITY),
    turns: new Set<HostLine>(),
  };
  #isLookSet = false;
  /** Held for silent, in the order in which that ends. */
  readonly #held = new Set<HostLine>();
  #cancelHeld: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nobody waits for the end of a silence any more. */
  close(): void {
    this.#cancelHeld?.();
    this.#held.clear();
  }

  /** Did the host not answer what it was asked lately? */
  isSilent(host: string): boolean {
    return this.#lines.get(host)?.isSilent(this.#clock.monotonicMs()) ?? false;
  }

  /** Makes the call when its turn has come. */
  call<T>(host: string, make: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve) => {
      this.#wait(host, (line) => ({
        isWanted: () => true,
        send: (places) => resolve(this.#send(line, places, make)),
        skip: () => undefined,
      }));
    });
  }

  /**
   * The same for what may be needless by then.
   * @param isWanted asked when its turn has come, which may take long
   * @returns null: it was not wanted any more
   */
  callIf<T>(host: string, isWanted: () => boolean, make: () => Promise<T>): Promise<T | null> {
    return new Promise<T | null>((resolve) => {
      this.#wait(host, (line) => ({
        isWanted,
        send: (places) => resolve(this.#send(line, places, make)),
        skip: () => resolve(null),
      }));
    });
  }

  /** For what can as well be asked at another time. @returns null: it would have to wait, and is not made */
  callNow<T>(host: string, make: () => Promise<T>): Promise<T> | null {
    const nowMs = this.#clock.monotonicMs();
    const line = this.#lineOf(host);
    const { places, turns } = line.isSilent(nowMs) ? this.#toSilent : this.#toAnswering;
    const othersWait = line.waiting.length > 0 || turns.size > 0;
    if (!othersWait && places.isFree(nowMs) && line.mayTake(nowMs)) return this.#send(line, places, make);
    this.#dropIdle(line, nowMs);
    return null;
  }

  #wait(host: string, callOf: (line: HostLine) => WaitingCall): void {
    const line = this.#lineOf(host);
    line.waiting.push(callOf(line));
    this.#serveAll(line);
  }

  async #send<T>(line: HostLine, places: CallPlaces, make: () => Promise<T>): Promise<T> {
    const call = { startedMs: this.#clock.monotonicMs() };
    places.take(call);
    line.sent(call);
    try {
      return await make();
    } finally {
      places.leave(call);
      line.over(call, this.#clock.monotonicMs());
      this.#hold(line);
      this.#serveAll(line);
    }
  }

  /** @param changed there is one more call to it, or one less, or time has passed */
  #serveAll(changed: HostLine | null): void {
    const nowMs = this.#clock.monotonicMs();
    if (changed !== null) this.#queue(changed, nowMs);
    for (const { turns, places } of [this.#toAnswering, this.#toSilent])
      for (const line of turns) {
        // Before its turn came it may have become silent.
        const isMisplaced = turns === this.#toAnswering.turns && line.isSilent(nowMs);
        if (!isMisplaced && !places.isFree(nowMs)) break;
        turns.delete(line);
        if (!isMisplaced) this.#serve(line, places, nowMs);
        this.#queue(line, nowMs);
      }
    if (this.#toAnswering.turns.size > 0) this.#lookAgain(nowMs);
  }

  /** The host's turn will come, if it may be sent what waits for it. Otherwise it comes when a call to it has ended. */
  #queue(line: HostLine, nowMs: number): void {
    if (line.waiting.length === 0) this.#dropIdle(line, nowMs);
    if (line.waiting.length === 0 || !line.mayTake(nowMs)) return;
    const [here, there] = line.isSilent(nowMs)
      ? [this.#toSilent, this.#toAnswering]
      : [this.#toAnswering, this.#toSilent];
    there.turns.delete(line);
    here.turns.add(line);
  }

  /** Sends the host the first call that is still wanted. */
  #serve(line: HostLine, places: CallPlaces, nowMs: number): void {
    if (!line.mayTake(nowMs)) return;
    for (let call = line.waiting.first; call !== undefined; call = line.waiting.first) {
      line.waiting.shift();
      if (call.isWanted()) {
        call.send(places);
        return;
      }
      call.skip();
    }
  }

  /** When a call is late, its place is free. */
  #lookAgain(nowMs: number): void {
    if (this.#isLookSet) return;
    this.#isLookSet = true;
    this.#clock.after(this.#toAnswering.places.freeInMs(nowMs), () => {
      this.#isLookSet = false;
      this.#serveAll(null);
    });
  }

  /** When its silence is over, what waits for it goes among those that answer, and it is forgotten if nothing does. */
  #hold(line: HostLine): void {
    this.#held.delete(line);
    if (line.silentUntilMs <= this.#clock.monotonicMs()) return;
    this.#held.add(line);
    this.#cancelHeld ??= this.#clock.after(line.silentUntilMs - this.#clock.monotonicMs(), () =>
      this.#letGo(),
    );
  }

  #letGo(): void {
    this.#cancelHeld = null;
    const nowMs = this.#clock.monotonicMs();
    for (const line of this.#held) {
      if (line.silentUntilMs > nowMs) {
        this.#cancelHeld = this.#clock.after(line.silentUntilMs - nowMs, () => this.#letGo());
        return;
      }
      this.#held.delete(line);
      this.#serveAll(line);
    }
  }

  #lineOf(host: string): HostLine {
    let line = this.#lines.get(host);
    if (line === undefined) this.#lines.set(host, (line = new HostLine(host)));
    return line;
  }

  #dropIdle(line: HostLine, nowMs: number): void {
    if (line.isIdle && !line.isSilent(nowMs)) this.#lines.delete(line.host);
  }
}
