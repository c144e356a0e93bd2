/**
 * What is left on a host of allocations that are gone: processes, control groups, folders, leases. `find-leaks.ts` compares the
 * disk and the kernel with what should be there; this file removes what it finds twice, and closes the host to new work
 * while too much stays.
 */
import { LEAKS_MAX } from '../../src/core/host/host.ts';
import type { AgentContext } from '../agent-context.ts';
import { clean, findLeaks } from './find-leaks.ts';

/**
 * Finds what is left on this host of things that are no longer there, by comparing what lies on disk and in the kernel
 * with what should. What is seen twice is taken away; what cannot be is counted, and too much of it closes the host for
 * newcomers until it is gone (S3.12, S3.57). Looks only at what carries a mark of ours or lies in this host's folder.
 */
export class LeakWatch {
  readonly #context: AgentContext;
  /** Since when each was seen without a break, monotonic. */
  #seen = new Map<string, number>();
  /** Seen again after it was to be taken away. */
  #stuck = 0;
  #looking: Promise<void> | null = null;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  /** How many there are that do not go away. */
  get stuck(): number {
    return this.#stuck;
  }

  get isClosed(): boolean {
    return this.#stuck > LEAKS_MAX;
  }

  /** One comparison; never throws. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#context.ports.log.warn({ error }, 'cannot look for what leaked'))
      .finally(() => (this.#looking = null));
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { clock, log, metrics } = this.#context.ports;
    await this.#context.leases.forgetRested();
    const leaks = await findLeaks(this.#context);
    const seen = new Map<string, number>();
    let stuck = 0;
    for (const leak of leaks) {
      const key = `${leak.kind} ${leak.name}`;
      const sinceMs = this.#seen.get(key);
      // The first time it may be on its way: made or taken away just now.
      if (sinceMs === undefined || clock.monotonicMs() - sinceMs < (leak.afterMs ?? 0)) {
        seen.set(key, sinceMs ?? clock.monotonicMs());
        continue;
      }
      metrics.count('moorage_host_leaks_total', { kind: leak.kind });
      log.warn({ leak: leak.kind, name: leak.name }, 'left behind, and taken away');
      if (await clean(this.#context, leak).catch(() => false)) continue;
      seen.set(key, sinceMs);
      stuck += 1;
    }
    if (stuck > LEAKS_MAX !== this.isClosed)
      log.error({ leaks: stuck }, stuck > LEAKS_MAX ? 'leaks: no new work here' : 'clean again');
    this.#seen = seen;
    this.#stuck = stuck;
    metrics.gauge('moorage_host_leaks', stuck);
  }
}
