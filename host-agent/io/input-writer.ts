import type { ShimLink } from '../../src/ports/process.ts';
import type { HostFrame } from '../../src/wire/api/attach-frames.ts';
import type { InputPart } from './input.ts';
import { InputPump } from './input.ts';
import type { Writer } from './input-holders.ts';
import type { AgentPorts } from '../ports.ts';

/** One attached client's input, for as long as it may write. */
export class InputWriter implements Writer {
  readonly session: string;
  readonly #pump: InputPump | null;
  readonly #send: (frame: HostFrame) => Promise<void>;
  #mayWrite = true;

  /** @param link null: what it would write to has ended */
  constructor(
    ports: AgentPorts,
    link: ShimLink | null,
    send: (frame: HostFrame) => Promise<void>,
    { session, signal }: { readonly session: string; readonly signal: AbortSignal },
  ) {
    this.session = session;
    // A client that is gone is not told.
    this.#send = (frame) => send(frame).catch(() => undefined);
    const taken = ({
      next,
      refused = null,
    }: {
      next: number;
      refused?: 'gap' | 'closed' | 'unsupported' | null;
    }) => this.#send({ kind: 'taken', next, refused });
    this.#pump = link === null ? null : new InputPump(ports, link, taken, signal);
  }

  /** @returns false when the client sends more than it may */
  push(part: InputPart): boolean {
    if (this.#pump === null) return true;
    if (this.#mayWrite) return this.#pump.push(part);
    void this.#tellHeld();
    return true;
  }

  /** It may not write, and is told so otherwise. */
  bar(): void {
    this.#mayWrite = false;
  }

  async lose(): Promise<void> {
    this.bar();
    await this.#pump?.stop();
    await this.#tellHeld();
  }

  #tellHeld(): Promise<void> {
    return this.#send({ kind: 'taken', next: 0, refused: 'held' });
  }
}
