import type { Eligibility, EligibilityState } from '../../src/core/host/host.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER } from '../../src/core/fit/ledger.ts';
import type { CellStore, Entry } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { eligibilityCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

export interface EligibilityChange {
  readonly state: EligibilityState;
  readonly reason: string;
  readonly by: string;
  readonly drainDeadlineMs?: number;
  readonly silentMs?: number;
}

/** Is the verdict to replace this one? */
export type Expected = (known: Eligibility) => boolean;

/** Every commit on the host moves its ledger; each lost try is one commit that got through. */
const TRIES_MAX = 32;

/**
 * Gives the verdict about a host. One transaction writes `eligibility/<host>` and `ledger/<host>`, comparing both: every
 * commit compares the ledger, so none can place on the host without having seen the verdict (I62). The counter grows with
 * each verdict and is the second half of the fencing epoch.
 */
export class EligibilityWriter {
  readonly #deps: { readonly store: CellStore; readonly keys: CellKeys; readonly clock: Clock };

  constructor(deps: { readonly store: CellStore; readonly keys: CellKeys; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /**
   * @param expected what it is to replace: another one is left alone and returned; absent: it replaces all
   * @returns the verdict in force: this one, or what stood in its way
   */
  async set(host: string, verdict: EligibilityChange, expected?: Expected): Promise<Eligibility> {
    const { store, keys } = this.#deps;
    const [verdictKey, ledgerKey] = [keys.eligibilityOf(host), keys.ledger(host)];
    let found = (await store.read([verdictKey, ledgerKey])).entries;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [verdictEntry, ledgerEntry] = [found.get(verdictKey), found.get(ledgerKey)];
      const known = verdictEntry === undefined ? READY : eligibilityCodec.decode(verdictEntry.value);
      if (expected !== undefined && !expected(known)) return known;
      if (isSame(known, verdict)) return known;
      const { wanted, ledger } = this.#next(known, ledgerEntry, verdict);
      const reply = await store.attempt({
        compares: [
          { key: verdictKey, target: 'modRevision', equals: verdictEntry?.modRevision ?? 0 },
          { key: ledgerKey, target: 'modRevision', equals: ledgerEntry?.modRevision ?? 0 },
        ],
        writes: [
          { kind: 'put', key: verdictKey, value: eligibilityCodec.encode(wanted) },
          { kind: 'put', key: ledgerKey, value: ledger },
        ],
        readBack: [verdictKey, ledgerKey],
      });
      if (reply.outcome === 'applied') return wanted;
      // After an unknown outcome the next try finds its own verdict in force, or finds it not done.
      found = reply.outcome === 'refused' ? reply.found : await this.#readBack(verdictKey, ledgerKey);
    }
    throw refuse(503, 'contended', `${host} is too busy to be given a verdict; try again`);
  }

  #next(known: Eligibility, ledgerEntry: Entry | undefined, verdict: EligibilityChange) {
    const ledger = ledgerEntry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(ledgerEntry.value);
    const counter = Math.max(known.counter, ledger.counter) + 1;
    const { drainDeadlineMs: _deadline, silentMs: _silent, ...kept } = known;
    const wanted: Eligibility = { ...kept, ...verdict, counter, sinceMs: this.#deps.clock.nowMs() };
    return { wanted, ledger: ledgerCodec.encode({ ...ledger, state: verdict.state, counter }) };
  }

  async #readBack(verdictKey: string, ledgerKey: string): Promise<ReadonlyMap<string, Entry>> {
    const snapshot = await this.#deps.store.read([verdictKey, ledgerKey]).catch(() => null);
    if (snapshot === null) throw outcomeUnknown('ask for the same again: the same verdict twice counts once');
    return snapshot.entries;
  }
}

const READY: Eligibility = { state: 'ready', reason: '', by: '', sinceMs: 0, counter: 0 };

function isSame(known: Eligibility, verdict: EligibilityChange): boolean {
  return (
    known.state === verdict.state &&
    known.drainDeadlineMs === verdict.drainDeadlineMs &&
    (known.by === verdict.by || known.by === '') &&
    (known.reason === verdict.reason || known.reason === '')
  );
}
