import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import { HttpError } from '../../src/ports/http.ts';
import { RecordError } from '../../src/wire/codec/codec.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { Term } from '../state/state.ts';

/** A host that takes longer to say what runs on it is passed over: thousands more may have to be asked. */
const ANSWER_MS = 3_000;

/** Who could give way: their host says what runs there, and the store whether that is still wanted. */
export class VictimReader {
  readonly #term: Term;

  constructor(term: Term) {
    this.#term = term;
  }

  /**
   * @param isWanted asked when its turn has come, which may take long
   * @returns what runs on the host and does not end by itself already; null: it did not say
   */
  async runningOn(hostId: string, isWanted = () => true): Promise<readonly AllocationReport[] | null> {
    const { hostCalls, hosts } = this.#term;
    try {
      const listing = await hostCalls.ask(hostId, isWanted, (address) => hosts.list(address, ANSWER_MS));
      if (listing === undefined) return null;
      return listing.allocations.filter((report) => OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping);
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      this.#term.world.log.debug({ host: hostId, error }, 'a host did not say what could give way');
      return null;
    }
  }

  /**
   * @returns by id, as the store has them; who is not there is gone, or its record cannot be read, so that nobody can say in it that it gives
   *   way; who shall not run gives way already
   * @throws StoreError
   */
  async read(victims: readonly VictimKey[], cause: string): Promise<ReadonlyMap<string, Eviction>> {
    const { store, keys, log } = this.#term.world;
    const names = victims.map(({ namespace, job, id }) => keys.allocation(namespace, job, id));
    const { entries } = await store.read(names);
    const found = new Map<string, Eviction>();
    for (const { key, value, modRevision } of entries.values())
      try {
        const victim = allocationCodec.decode(value);
        found.set(victim.id, { victim, victimRevision: modRevision, cause });
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key, error }, 'unreadable record');
      }
    return found;
  }
}

type VictimKey = Pick<Allocation, 'namespace' | 'job' | 'id'>;
