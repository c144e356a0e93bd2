import type { ShimLink } from '../../src/ports/process.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { endOf } from '../tasks/attempt.ts';
import type { AgentPorts } from '../ports.ts';

/** A shim that was asked for answers within milliseconds. */
const LINK_RETRY_MS = 20;

export interface SharedLink {
  readonly link: ShimLink;
  /** To be called once by whoever got it; the last one ends the connection. */
  close(): void;
}

/**
 * The agent's connections to shims, one to each however many clients are attached: a shim has room for few, and closes
 * the quietest when there are more.
 */
export class ShimLinks {
  readonly #ports: AgentPorts;
  readonly #shared = new Map<string, Shared>();

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  /**
   * Waits for the shim of an attempt or command.
   * @returns null when what it runs has ended, or `signal` was aborted
   */
  async open(name: string, signal: AbortSignal): Promise<SharedLink | null> {
    while (!signal.aborted) {
      const shared = await this.#share(name);
      if (shared !== null) return shared;
      if ((await endOf(this.#ports, name)) !== null) return null;
      await sleep(this.#ports.clock, LINK_RETRY_MS, signal);
    }
    return null;
  }

  async #share(name: string): Promise<SharedLink | null> {
    const shared = this.#shared.get(name) ?? this.#begin(name);
    shared.users += 1;
    const link = await shared.link;
    if (link === null) return null;
    let open = true;
    const close = (): void => {
      if (!open) return;
      open = false;
      shared.users -= 1;
      if (shared.users === 0) link.close();
    };
    return { link, close };
  }

  #begin(name: string): Shared {
    const shared: Shared = { users: 0, link: this.#ports.processes.open(name) };
    this.#shared.set(name, shared);
    const forget = (): void => {
      if (this.#shared.get(name) === shared) this.#shared.delete(name);
    };
    shared.link.then((link) => (link === null ? forget() : void link.ended.then(forget)), forget);
    return shared;
  }
}

interface Shared {
  users: number;
  readonly link: Promise<ShimLink | null>;
}
