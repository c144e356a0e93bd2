import type { ShimLink, StdinAnswer } from '../../src/ports/process.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { AgentPorts } from '../ports.ts';

/** A shim that takes nothing is asked again after this. */
const FULL_RETRY_MS = 10;
/** What a client may have sent and the shim not taken. A client that sends more does not keep to its window. */
export const INPUT_WAITING_BYTES_MAX = 1024 * 1024;

/** What a client said of its input, and where that lies in the task's. */
export type InputPart =
  | { readonly kind: 'bytes'; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly offset: number };

/**
 * Carries one client's input to a shim, part by part, until the shim has taken all of it. Holds nothing that the client
 * does not hold too: whatever dies, the client sends again from where the shim says.
 */
export class InputPump {
  readonly #ports: AgentPorts;
  readonly #link: ShimLink;
  readonly #taken: (answer: StdinAnswer) => Promise<void>;
  readonly #waiting: InputPart[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | null = null;
  #stopped = false;
  readonly #signal: AbortSignal;

  /** @param taken told after each part how far the shim is */
  constructor(
    ports: AgentPorts,
    link: ShimLink,
    taken: (answer: StdinAnswer) => Promise<void>,
    signal: AbortSignal,
  ) {
    this.#ports = ports;
    this.#link = link;
    this.#taken = taken;
    this.#signal = signal;
  }

  /** Takes no more. Resolves when nothing is on its way to the shim. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.#running;
  }

  /** @returns false when too much waits already: this client is to be cut */
  push(part: InputPart): boolean {
    this.#waitingBytes += part.kind === 'bytes' ? part.bytes.length : 0;
    if (this.#waitingBytes > INPUT_WAITING_BYTES_MAX) return false;
    this.#waiting.push(part);
    this.#running ??= this.#run().finally(() => (this.#running = null));
    return true;
  }

  #isStopped(): boolean {
    return this.#stopped;
  }

  async #run(): Promise<void> {
    for (let part = this.#waiting.shift(); part !== undefined; part = this.#waiting.shift()) {
      if (part.kind === 'bytes') this.#waitingBytes -= part.bytes.length;
      if (!(await this.#carry(part))) return;
    }
  }

  /** @returns false when no more will be taken */
  async #carry(part: InputPart): Promise<boolean> {
    let told = -1;
    while (!this.#signal.aborted && !this.#isStopped()) {
      const answer =
        part.kind === 'end'
          ? await this.#link.endStdin(part.offset)
          : await this.#link.writeStdin(...from(part, told));
      if (answer === null) return false;
      if (answer.next !== told || answer.refused !== undefined) await this.#taken(answer);
      told = answer.next;
      if (answer.refused !== undefined) return answer.refused === 'gap';
      if (part.kind === 'end' || answer.next >= part.offset + part.bytes.length) return true;
      await sleep(this.#ports.clock, FULL_RETRY_MS, this.#signal);
    }
    return false;
  }
}

/** What of the part the shim has not taken yet. */
function from(
  part: { readonly offset: number; readonly bytes: Uint8Array },
  next: number,
): [offset: number, bytes: Uint8Array] {
  const done = Math.min(part.bytes.length, Math.max(0, next - part.offset));
  return [part.offset + done, part.bytes.subarray(done)];
}
