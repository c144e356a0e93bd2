import type { Allocation } from '../src/core/allocation.ts';
import type { Eviction } from '../src/core/plan.ts';
import type { AllocationReport } from '../src/core/report.ts';
import { OBSERVED_RANK } from '../src/core/states.ts';
import { HttpError } from '../src/ports/http.ts';
import { ProblemError } from '../src/wire/problem.ts';
import { allocationCodec } from '../src/wire/records.ts';
import type { Term } from './context.ts';

/** Who could give way: their host says what runs there, and the store whether that is still wanted. */
export class VictimReader {
  readonly #term: Term;

  constructor(term: Term) {
    this.#term = term;
  }

  /** What runs on the host and does not end by itself already; nothing when it does not say. */
  async runningOn(hostId: string): Promise<readonly AllocationReport[]> {
    const host = this.#term.cell.state.hostOf(hostId);
    if (host === undefined) return [];
    try {
      const { allocations } = await this.#term.hostCalls.add(() => this.#term.hosts.list(host.address));
      return allocations.filter((report) => OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping);
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      this.#term.world.log.debug({ host: hostId, error }, 'a host did not say what could give way');
      return [];
    }
  }

  /** @returns by id, as the store has them; who is not there is gone, and who shall not run gives way already. @throws StoreError */
  async read(victims: readonly VictimKey[], cause: string): Promise<ReadonlyMap<string, Eviction>> {
    const { store, keys } = this.#term.world;
    const names = victims.map(({ namespace, job, id }) => keys.allocation(namespace, job, id));
    const { entries } = await store.read(names);
    const found = new Map<string, Eviction>();
    for (const { value, modRevision } of entries.values()) {
      const victim = allocationCodec.decode(value);
      found.set(victim.id, { victim, victimRevision: modRevision, cause });
    }
    return found;
  }
}

type VictimKey = Pick<Allocation, 'namespace' | 'job' | 'id'>;
