import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import { RecordError } from '../../src/wire/wire.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { Entry as StoredEntry } from '../../src/ports/cell-store.ts';
import { Batches } from '../state/batches.ts';
import { isCallError } from '../hosts/hosts.ts';
import type { Term } from '../state/state.ts';

/** A host that takes longer to say what runs on it is passed over: thousands of others may have to be asked. */
const ANSWER_MS = 3_000;

/** Reads of the store under way at once: the victims of further hosts gather meanwhile. */
const READS_MAX = 2;

/** Reads possible victims: their host says what runs there, and the store whether it is still to run. */
export class VictimReader {
  readonly #term: Term;
  readonly #isGone: (allocation: string) => boolean;
  readonly #waiting: WaitingRead[] = [];
  readonly #reads = new Batches(
    READS_MAX,
    () => this.#waiting.length > 0,
    () => this.#readBatch(),
  );

  /** @param isGone has it given its place up, of which its host knows nothing? */
  constructor(term: Term, isGone: (allocation: string) => boolean = () => false) {
    this.#term = term;
    this.#isGone = isGone;
  }

  /**
   * @param isWanted asked when the query is sent, which may be long after this call
   * @returns what runs on the host and is not stopping already; null: it did not answer
   */
  async runningOn(hostId: string, isWanted = () => true): Promise<readonly AllocationReport[] | null> {
    const { hostCalls, hosts } = this.#term;
    try {
      const listing = await hostCalls.ask(hostId, isWanted, (address) => hosts.list(address, ANSWER_MS));
      if (listing === undefined) return null;
      return listing.allocations.filter(
        (report) =>
          OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping &&
          !isKept(this.#term, report) &&
          !this.#isGone(report.id),
      );
    } catch (error) {
      if (!isCallError(error)) throw error;
      this.#term.world.log.debug({ host: hostId, error }, 'a host did not say what could be preempted');
      return null;
    }
  }

  /**
   * @returns victims by id, as the store has them. One that is missing is gone, or an operator keeps it now, or its record
   *   cannot be read and so cannot be marked; one that is not to run is stopping already
   * @throws StoreError
   */
  async read(victims: readonly VictimKey[], cause: string): Promise<ReadonlyMap<string, Eviction>> {
    const { keys, log } = this.#term.world;
    const names = victims.map(({ namespace, job, id }) => keys.allocation(namespace, job, id));
    const entries = await this.#entriesOf(names);
    const found = new Map<string, Eviction>();
    for (const { key, value, modRevision } of entries)
      try {
        const victim = allocationCodec.decode(value);
        if (isKept(this.#term, victim)) continue;
        found.set(victim.id, { victim, victimRevision: modRevision, cause });
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key, error }, 'unreadable record');
      }
    return found;
  }

  /** What is asked for in one turn, for many hosts, is read together. @returns those that are there */
  #entriesOf(names: readonly string[]): Promise<readonly StoredEntry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ names, resolve, reject });
      this.#reads.schedule();
    });
  }

  async #readBatch(): Promise<void> {
    const { store } = this.#term.world;
    const batch: WaitingRead[] = [];
    let size = 0;
    while (this.#waiting.length > 0) {
      const [{ names }] = this.#waiting as [WaitingRead];
      if (batch.length > 0 && size + names.length > store.limits.operationsMax) break;
      batch.push(...this.#waiting.splice(0, 1));
      size += names.length;
    }
    try {
      const { entries } = await store.read([...new Set(batch.flatMap(({ names }) => names))]);
      for (const { names, resolve } of batch) resolve(names.flatMap((name) => entries.get(name) ?? []));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** A question for records that waits for its batch. */
interface WaitingRead {
  readonly names: readonly string[];
  readonly resolve: (entries: readonly StoredEntry[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Does nothing evict it, by an operator's word? */
export function isKept(
  { pauses, cell }: Pick<Term, 'pauses' | 'cell'>,
  { namespace, job, host }: Pick<Allocation, 'namespace' | 'job' | 'host'>,
): boolean {
  return pauses.onHost('eviction', cell.state.hostOf(host), { namespace, job }) !== null;
}

/** Is nothing on the host evicted, by an operator's word? */
export function isKeptHost({ pauses, cell }: Pick<Term, 'pauses' | 'cell'>, host: string): boolean {
  return pauses.onHost('eviction', cell.state.hostOf(host)) !== null;
}

type VictimKey = Pick<Allocation, 'namespace' | 'job' | 'id'>;
