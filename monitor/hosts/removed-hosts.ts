import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';

const CHECK_MS = 1_000;

/**
 * Deletes the records of hosts that an operator has removed, when nothing is placed there any more. Their eligibility and
 * ledger stay: a machine that comes back under the same name must find a fencing counter that did not go back.
 */
export class RemovedHosts {
  readonly #deps: MonitorContext;
  readonly #checks: PeriodicTask;

  constructor(deps: MonitorContext) {
    this.#deps = deps;
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  /** Never rejects: what fails is tried again. */
  async check(): Promise<void> {
    const { copy, log } = this.#deps;
    for (const [host, { value, modRevision }] of copy.eligibility.rows()) {
      if (value.confirmed !== 'removed' || copy.allocationsByHost.of(host).size > 0) continue;
      if (copy.alive.get(host) !== undefined || monitorRank(this.#deps, host) !== 0) continue;
      try {
        await this.#delete(host, modRevision);
      } catch (error) {
        log.debug({ host, error }, 'a removed host is not deleted yet; it is tried again');
      }
    }
  }

  async #delete(host: string, eligibilityRevision: number): Promise<void> {
    const { copy, store, keys, metrics } = this.#deps;
    const row = copy.hosts.get(host);
    if (row === undefined) return;
    const reply = await store.attempt({
      compares: [
        { key: keys.host(host), target: 'modRevision', equals: row.modRevision },
        { key: keys.aliveOf(host), target: 'createRevision', equals: 0 },
        { key: keys.eligibilityOf(host), target: 'modRevision', equals: eligibilityRevision },
        { key: keys.ledger(host), target: 'modRevision', equals: copy.ledgers.get(host)?.modRevision ?? 0 },
      ],
      writes: [{ kind: 'delete', key: keys.host(host) }],
      readBack: [],
    });
    if (reply.outcome === 'applied') metrics.count('moorage_monitor_reaped_total', { what: 'host' });
  }
}
