import { NoopPolicy } from 'cockatiel';
import { isDroppedConnection, storeErrorOf } from './faults.ts';

/** How long a member that did not answer is avoided while another one answers; its connection reconnects meanwhile. */
const SUSPECT_MS = 5_000;

/**
 * Which members of the cluster answer. `etcd3` picks a member at random, and a dead one would fail its share of all calls.
 * Nothing is sent again here: only the member for a call is chosen.
 */
export class Members {
  readonly #all: Member[] = [];
  readonly #nowMs: () => number;

  /** @param nowMs a clock that only goes forward */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A policy of `etcd3` for the calls to one more member. */
  add(): Member {
    const member: Member = new Member(() => this.#mayAvoid(member), this.#nowMs);
    this.#all.push(member);
    return member;
  }

  #mayAvoid(picked: Member): boolean {
    return picked.isSuspect && this.#all.some((member) => !member.isSuspect);
  }
}

class Member extends NoopPolicy {
  readonly #mayAvoid: () => boolean;
  readonly #nowMs: () => number;
  #suspectUntilMs = Number.NEGATIVE_INFINITY;

  constructor(mayAvoid: () => boolean, nowMs: () => number) {
    super();
    this.#mayAvoid = mayAvoid;
    this.#nowMs = nowMs;
  }

  get isSuspect(): boolean {
    return this.#nowMs() < this.#suspectUntilMs;
  }

  /** Throws without a call to make the client pick the next member. */
  override async execute<T>(...[call, signal]: Parameters<NoopPolicy['execute']>): Promise<T> {
    if (this.#mayAvoid()) throw new Error('another member is asked');
    try {
      const result = await super.execute(call, signal);
      this.#suspectUntilMs = Number.NEGATIVE_INFINITY;
      return result as T;
    } catch (error) {
      if (isSilence(error)) this.#suspectUntilMs = this.#nowMs() + SUSPECT_MS;
      throw error;
    }
  }
}

/**
 * Makes a repeatable call, up to once for each member that does not answer, and once more on a new connection when the one
 * it was made on ended: after a pause of this process, gRPC takes its own silence for the server's.
 * @throws StoreError of the last try
 */
export async function tryEachMember<T>(members: number, call: () => Promise<T>): Promise<T> {
  let triesLeft = members;
  let mayReconnect = true;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (mayReconnect && isDroppedConnection(error)) mayReconnect = false;
      else if (--triesLeft <= 0 || !isSilence(error)) throw storeErrorOf(error);
    }
  }
}

/** Another member may answer. */
function isSilence(error: unknown): boolean {
  const { code } = storeErrorOf(error);
  return code === 'unavailable' || code === 'timeout';
}
