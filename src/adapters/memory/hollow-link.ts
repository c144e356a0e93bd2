import type { ShimState } from '../../core/host/shim.ts';
import type { ShimLink, StdinAnswer, TailPiece } from '../../ports/process.ts';
import type { HollowTask } from './hollow-task.ts';

/** What a link may do with its task, while the task runs. */
export interface HollowControl {
  /** @returns null when it no longer runs */
  task(): HollowTask | null;
  state(task: HollowTask): ShimState;
  input(task: HollowTask, bytes: Uint8Array): Promise<void>;
  endInput(task: HollowTask): Promise<void>;
  signal(task: HollowTask, signal: string, sequence: number): Promise<number>;
  kill(): Promise<unknown>;
  renewed(task: HollowTask, forMs: number | null): void;
  tail(listener: (piece: TailPiece) => void): () => void;
  readonly ended: Promise<void>;
}

const ENOTTY = 25;
const ENOTSUP = 95;

/** A connection to a hollow shim: the rules of `ShimLink`, without a socket. */
export class HollowLink implements ShimLink {
  readonly ended: Promise<void>;
  readonly #control: HollowControl;
  readonly #closers: (() => void)[] = [];
  #open = true;

  constructor(control: HollowControl) {
    this.#control = control;
    const closed = new Promise<void>((resolve) => this.#closers.push(resolve));
    this.ended = Promise.race([closed, control.ended]);
  }

  async state(): Promise<ShimState | null> {
    const task = this.#task();
    return task === null ? null : this.#control.state(task);
  }

  async writeStdin(offset: number, bytes: Uint8Array): Promise<StdinAnswer | null> {
    const task = this.#task();
    if (task === null) return null;
    if (!task.stdinOpen) return { next: task.stdinNext, refused: 'closed' };
    if (offset > task.stdinNext) return { next: task.stdinNext, refused: 'gap' };
    const fresh = bytes.subarray(Math.min(bytes.length, task.stdinNext - offset));
    task.stdinNext += fresh.length;
    const { stdinNext: next } = task;
    if (fresh.length > 0) await this.#control.input(task, fresh);
    return { next };
  }

  async endStdin(offset: number): Promise<StdinAnswer | null> {
    const task = this.#task();
    if (task === null) return null;
    const next = task.stdinNext;
    if (offset > next) return { next, refused: 'gap' };
    if (!task.stdinOpen) return { next };
    task.stdinOpen = false;
    await this.#control.endInput(task);
    return { next };
  }

  async signal(signal: string, sequence: number): Promise<number | null> {
    const task = this.#task();
    return task === null ? null : this.#control.signal(task, signal, sequence);
  }

  async resize(rows: number, columns: number): Promise<number | null> {
    const task = this.#task();
    if (task === null) return null;
    if (task.launch.pty === undefined) return ENOTTY;
    Object.assign(task, { rows, columns });
    return 0;
  }

  async killTree(): Promise<number | null> {
    if (this.#task() === null) return null;
    await this.#control.kill();
    return 0;
  }

  async freeze(on: boolean): Promise<number | null> {
    const task = this.#task();
    if (task === null) return null;
    if (task.launch.freezeFile === undefined) return ENOTSUP;
    task.frozen = on;
    return 0;
  }

  async renew(forMs: number | null): Promise<number | null> {
    const task = this.#task();
    if (task === null) return null;
    this.#control.renewed(task, forMs);
    return 0;
  }

  async tail(listener: (piece: TailPiece) => void): Promise<{ out: number; err: number } | null> {
    const task = this.#task();
    if (task === null) return null;
    this.#closers.push(this.#control.tail(listener));
    return { out: task.out, err: task.err };
  }

  close(): void {
    this.#open = false;
    for (const close of this.#closers.splice(0)) close();
  }

  #task(): HollowTask | null {
    return this.#open ? this.#control.task() : null;
  }
}
