import { NoopPolicy } from 'cockatiel';
import { storeErrorOf } from './faults.ts';

/** So long a member that did not answer is passed over, while another one does: its connection is tried again meanwhile. */
const SUSPECT_MS = 5_000;

/**
 * Which members of the cluster answer. The client asks one at random, and one that is dead would fail its share of all
 * calls for as long as it is dead. A call that was made is never made again here: only whom to ask is chosen.
 */
export class Members {
  readonly #all: Member[] = [];
  readonly #nowMs: () => number;

  /** @param nowMs a clock that only goes forward */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** One more member, as the client's policy for its calls. */
  add(): Member {
    const member: Member = new Member(() => this.#mayPass(member), this.#nowMs);
    this.#all.push(member);
    return member;
  }

  #mayPass(asked: Member): boolean {
    return asked.isSuspect && this.#all.some((member) => !member.isSuspect);
  }
}

class Member extends NoopPolicy {
  readonly #mayPass: () => boolean;
  readonly #nowMs: () => number;
  #suspectUntilMs = Number.NEGATIVE_INFINITY;

  constructor(mayPass: () => boolean, nowMs: () => number) {
    super();
    this.#mayPass = mayPass;
    this.#nowMs = nowMs;
  }

  get isSuspect(): boolean {
    return this.#nowMs() < this.#suspectUntilMs;
  }

  /** Without a call, the client asks the next member. */
  override async execute<T>(...[call, signal]: Parameters<NoopPolicy['execute']>): Promise<T> {
    if (this.#mayPass()) throw new Error('another member is asked');
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
 * Makes a call that may be made twice, as long as there is a member that was not asked.
 * @throws StoreError the last one's
 */
export async function askEach<T>(members: number, call: () => Promise<T>): Promise<T> {
  for (let asked = 1; ; asked++) {
    try {
      return await call();
    } catch (error) {
      if (asked >= members || !isSilence(error)) throw storeErrorOf(error);
    }
  }
}

/** It did not answer, or could not: another member may. */
function isSilence(error: unknown): boolean {
  const { code } = storeErrorOf(error);
  return code === 'unavailable' || code === 'timeout';
}
