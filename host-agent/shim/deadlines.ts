import type { ExitRecord, ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { ATTEMPT_FILES, stoppingFile } from '../../src/wire/host-files/attempt-files.ts';
import { publish } from './facts.ts';

const KILL_AGAIN_MS = 50;
const GRACE_MS = 5_000;
/** Timers count no further; a task that has run for three weeks is asked again then. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What happens without an agent; as `deadlines.c` of the native shim. */
export class Deadlines {
  readonly #launch: ShimLaunch;
  readonly #signal: (name: string) => void;
  readonly #kill: () => void;
  #runEndsAt: number | null;
  #disconnectAt: number | null;
  #killAt: number | null = null;
  #timer: NodeJS.Timeout | null = null;
  #stopping = false;
  #stoppedBy: ExitRecord['stoppedBy'];

  constructor(launch: ShimLaunch, signal: (name: string) => void, kill: () => void) {
    this.#launch = launch;
    this.#signal = signal;
    this.#kill = kill;
    this.#runEndsAt = after(launch.runMaxMs ?? null);
    this.#disconnectAt = after(launch.stopAfterDisconnectMs ?? null);
    this.#arm();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get stoppedBy(): ExitRecord['stoppedBy'] {
    return this.#stoppedBy;
  }

  get left(): { readonly runLeftMs: number | null; readonly disconnectLeftMs: number | null } {
    const left = (at: number | null): number | null =>
      at === null ? null : Math.max(0, Math.round(at - performance.now()));
    return { runLeftMs: left(this.#runEndsAt), disconnectLeftMs: left(this.#disconnectAt) };
  }

  renew(forMs: number | null): void {
    this.#disconnectAt = after(forMs);
    this.#arm();
  }

  killUntilDone(): void {
    this.#stopping = true;
    this.#kill();
    this.#killAt = after(KILL_AGAIN_MS);
    this.#arm();
  }

  /** The main process has ended. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #arm(): void {
    this.close();
    const pending = this.#stopping ? [this.#killAt] : [this.#runEndsAt, this.#disconnectAt];
    const next = Math.min(...pending.map((at) => at ?? Infinity));
    if (next === Infinity) return;
    const waitMs = Math.min(TIMER_MS_MAX, Math.max(0, Math.ceil(next - performance.now())));
    this.#timer = setTimeout(() => this.#tick(), waitMs);
  }

  #tick(): void {
    const now = performance.now();
    const due = (at: number | null): boolean => at !== null && now >= at;
    if (!this.#stopping && due(this.#runEndsAt)) this.#stop('run-max');
    if (!this.#stopping && due(this.#disconnectAt)) this.#stop('disconnect');
    if (due(this.#killAt)) this.killUntilDone();
    this.#arm();
  }

  #stop(why: 'run-max' | 'disconnect'): void {
    this.#stopping = true;
    this.#stoppedBy = why;
    sayWhy(why);
    this.#signal(this.#launch.stop?.signal ?? 'SIGTERM');
    this.#killAt = after(this.#launch.stop?.graceMs ?? GRACE_MS);
  }
}

/** On a full disk it is stopped all the same, and its end says why. */
function sayWhy(why: 'run-max' | 'disconnect'): void {
  try {
    publish(ATTEMPT_FILES.stopping, stoppingFile.encode({ why, atMs: Date.now() }), false);
  } catch {
    // Nothing to be done: see above.
  }
}

function after(ms: number | null): number | null {
  return ms === null ? null : performance.now() + ms;
}
