import type { HostClient, StopOutcome } from '../../src/clients/host-client.ts';
import type { Epoch } from '../../src/core/cell/epoch.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import type { MonitorContext } from '../context.ts';

export interface HostOrdersDeps extends Pick<MonitorContext, 'copy' | 'log'> {
  readonly hosts: HostClient;
}

/** The reaper's orders to hosts. */
export class HostOrders {
  readonly #deps: HostOrdersDeps;

  constructor(deps: HostOrdersDeps) {
    this.#deps = deps;
  }

  /** @param what `epoch`: of its placing; null: not known any more @returns null when the host is not registered */
  async stop(
    what: { readonly id: string; readonly host: string; readonly epoch: Epoch | null },
    mode: StopRequest['mode'],
    cause: string,
  ): Promise<StopOutcome | null> {
    const { hosts, copy, log } = this.#deps;
    const { id, host } = what;
    const address = copy.hosts.get(host)?.value.address;
    // The cell's present incarnation: a host that knows of a restore refuses orders from before it.
    const incarnation = copy.meta.get('')?.value.incarnation ?? what.epoch?.incarnation;
    if (address === undefined || incarnation === undefined) return null;
    const epoch = { incarnation, counter: this.#counterFor(host, what.epoch) };
    const answer = await hosts.stop(address, id, { commandId: `${id}-reap`, epoch, mode, cause });
    if (answer.kind === 'refused') log.warn({ allocation: id, host, ...answer }, 'a host refused to stop');
    return answer;
  }

  /** The present counter: a host that knows a later eligibility change refuses the epoch of the placing. */
  #counterFor(host: string, epoch: Epoch | null): number {
    const { copy } = this.#deps;
    const eligibility = copy.eligibility.get(host)?.value.counter ?? 0;
    return Math.max(eligibility, copy.ledgers.get(host)?.value.counter ?? 0, epoch?.counter ?? 0);
  }
}
