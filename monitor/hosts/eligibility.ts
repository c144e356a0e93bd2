import type {
  DrainWindow,
  Eligibility,
  EligibilityState,
  FenceAnswer,
  HostConfirmation,
} from '../../src/core/host/host.ts';
import { EMPTY_LEDGER } from '../../src/core/fit/ledger.ts';
import { withFenceAnswer } from '../../src/core/host/fences.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Compare, Entry } from '../../src/ports/cell-store.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { eligibilityCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';

type EligibilityPorts = Pick<RolePorts, 'store' | 'keys' | 'clock'>;

export interface EligibilityChange {
  readonly state: EligibilityState;
  readonly reason: string;
  readonly by: string;
  readonly drainDeadlineMs?: number;
  readonly silentMs?: number;
  readonly confirmed?: HostConfirmation;
  /** null: what was planned is cancelled. Absent: it stands. */
  readonly window?: DrainWindow | null;
}

/** A record that is changed in the same transaction. */
export interface Companion {
  readonly key: string;
  /** @returns what is to be there; null: it does not allow the change, and nothing is changed */
  next(found: Entry | undefined): string | null;
}

export type Expected = (known: Eligibility) => boolean;

/** Every commit on the host moves its ledger; each lost try is one such commit. */
const TRIES_MAX = 32;

/**
 * Changes the eligibility of hosts. One transaction writes `eligibility/<host>` and `ledger/<host>`, comparing both: every
 * commit compares the ledger, so none can place on the host without having seen the change (I62). The counter grows with each
 * change and is the second half of the fencing epoch. See docs/decisions/host-eligibility.md.
 */
export class EligibilityWriter {
  readonly #deps: EligibilityPorts;

  constructor(deps: EligibilityPorts) {
    this.#deps = deps;
  }

  /**
   * A host with a session is not declared lost.
   *
   * @param expected what may be replaced: anything else is left and returned; absent: everything
   * @param companion is changed with it, or not at all
   * @returns the eligibility in force: the new one, or the one that was left
   */
  async set(
    host: string,
    change: EligibilityChange,
    expected?: Expected,
    companion?: Companion,
  ): Promise<Eligibility> {
    const { store, keys } = this.#deps;
    const [key, ledgerKey, aliveKey] = [keys.eligibilityOf(host), keys.ledger(host), keys.aliveOf(host)];
    const all = [key, ledgerKey, aliveKey, ...(companion === undefined ? [] : [companion.key])];
    let found = (await store.read(all)).entries;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [entry, ledgerEntry] = [found.get(key), found.get(ledgerKey)];
      const known = entry === undefined ? READY : eligibilityCodec.decode(entry.value);
      if (expected !== undefined && !expected(known)) return known;
      if (change.state === 'lost' && found.has(aliveKey)) return known;
      if (isSame(known, change)) {
        const { window } = change;
        if (window === undefined || isSameWindow(known.window, window)) return known;
        return await this.plan(host, (now) => (isSame(now, change) ? window : undefined));
      }
      const more = companion === undefined ? null : companionOf(companion, found);
      if (companion !== undefined && more === null) return known;
      const { wanted, ledger } = this.#next(known, ledgerEntry, change);
      const reply = await store.attempt({
        compares: [
          { key: key, target: 'modRevision', equals: entry?.modRevision ?? 0 },
          { key: ledgerKey, target: 'modRevision', equals: ledgerEntry?.modRevision ?? 0 },
          ...(change.state === 'lost' ? [hasNoKey(aliveKey)] : []),
          ...(more === null ? [] : [more.compare]),
        ],
        writes: [
          { kind: 'put', key: key, value: eligibilityCodec.encode(wanted) },
          { kind: 'put', key: ledgerKey, value: ledger },
          ...(more === null ? [] : [more.write]),
        ],
        readBack: all,
      });
      if (reply.outcome === 'applied') return wanted;
      // After an unknown outcome the next try finds its own change in force, or not.
      found = reply.outcome === 'refused' ? reply.found : await this.#readBack(all);
    }
    throw refuse(503, 'contended', `${host} is too busy to change its eligibility; try again`);
  }

  /**
   * Changes the labels of a host; nothing else of it, so that no commit and no start is disturbed. What was placed meanwhile
   * by the labels before is moved like all that no longer matches.
   *
   * @param change the labels as they are now → as they are to be
   */
  async label(
    host: string,
    change: (labels: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
  ): Promise<Eligibility> {
    return await this.#amend(host, ({ labels, ...rest }) => ({ ...rest, ...labelsIn(change(labels ?? {})) }));
  }

  /**
   * Plans a drain, or cancels what was planned; the host stays as it is, and no commit is disturbed.
   *
   * @param next null: none is planned; undefined: it stays as it is
   */
  async plan(
    host: string,
    next: (known: Eligibility) => DrainWindow | null | undefined,
  ): Promise<Eligibility> {
    return await this.#amend(host, (known) => {
      const window = next(known);
      return window === undefined ? known : withWindow(known, window);
    });
  }

  /**
   * Records what a fence answered for a lost host. Its session's absence and the verdict are compared: of a host that is back,
   * nothing is confirmed.
   *
   * @param counter of the verdict for which the fence was asked; absent: of the present one
   * @returns null: it is not lost, lost by another verdict, or has a session
   */
  async fence(
    host: string,
    name: string,
    { counter, ...answer }: Omit<FenceAnswer, 'counter'> & { readonly counter?: number },
  ): Promise<Eligibility | null> {
    const aliveKey = this.#deps.keys.aliveOf(host);
    let isVoid = false;
    const known = await this.#amend(
      host,
      (now, found) => {
        const bound = { ...answer, counter: counter ?? now.counter };
        const fences = found.has(aliveKey) ? null : withFenceAnswer(now, name, bound);
        isVoid = fences === null;
        return fences === null ? now : { ...now, fences };
      },
      aliveKey,
    );
    return isVoid ? null : known;
  }

  /**
   * Changes what stands beside the state.
   * @param absentKey must not be there
   */
  async #amend(
    host: string,
    change: (known: Eligibility, found: ReadonlyMap<string, Entry>) => Eligibility,
    absentKey?: string,
  ): Promise<Eligibility> {
    const { store, keys } = this.#deps;
    const key = keys.eligibilityOf(host);
    const all = absentKey === undefined ? [key] : [key, absentKey];
    let found = (await store.read(all)).entries;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const entry = found.get(key);
      const known = entry === undefined ? READY : eligibilityCodec.decode(entry.value);
      const wanted = change(known, found);
      if (canonicalJson(wanted) === canonicalJson(known)) return known;
      const reply = await store.attempt({
        compares: [
          { key, target: 'modRevision', equals: entry?.modRevision ?? 0 },
          ...(absentKey === undefined ? [] : [hasNoKey(absentKey)]),
        ],
        writes: [{ kind: 'put', key, value: eligibilityCodec.encode(wanted) }],
        readBack: all,
      });
      if (reply.outcome === 'applied') return wanted;
      found = reply.outcome === 'refused' ? reply.found : await this.#readBack(all);
    }
    throw refuse(503, 'contended', `${host} is too busy to be changed; try again`);
  }

  #next(known: Eligibility, ledgerEntry: Entry | undefined, change: EligibilityChange) {
    const ledger = ledgerEntry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(ledgerEntry.value);
    const counter = Math.max(known.counter, ledger.counter) + 1;
    const { window, ...more } = change;
    const planned = window === undefined ? known : withWindow(known, window);
    const { drainDeadlineMs: _deadline, silentMs, confirmed: _word, fences, ...kept } = planned;
    const sinceMs = this.#deps.clock.nowMs();
    // Lost all the time: from then on its silence is counted.
    const isStill = known.state === 'lost' && change.state === 'lost';
    const since = isStill ? { sinceMs: known.sinceMs, silentMs: silentMs ?? 0 } : {};
    const fenced = isStill && fences !== undefined ? { fences } : {};
    const wanted: Eligibility = { ...kept, sinceMs, ...more, ...since, ...fenced, counter };
    return { wanted, ledger: ledgerCodec.encode({ ...ledger, state: change.state, counter }) };
  }

  async #readBack(keys: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
    const snapshot = await this.#deps.store.read(keys).catch(() => null);
    if (snapshot === null) throw outcomeUnknown('ask for the same again: the same change twice counts once');
    return snapshot.entries;
  }
}

const READY: Eligibility = { state: 'ready', reason: '', by: '', sinceMs: 0, counter: 0 };

function labelsIn(labels: Readonly<Record<string, string>>): Pick<Eligibility, 'labels'> {
  return Object.keys(labels).length === 0 ? {} : { labels };
}

function withWindow({ window: _before, ...rest }: Eligibility, window: DrainWindow | null): Eligibility {
  return window === null ? rest : { ...rest, window };
}

function isSameWindow(known: DrainWindow | undefined, wanted: DrainWindow | null): boolean {
  return canonicalJson(known ?? null) === canonicalJson(wanted);
}

function companionOf(companion: Companion, found: ReadonlyMap<string, Entry>) {
  const { key } = companion;
  const entry = found.get(key);
  const value = companion.next(entry);
  if (value === null) return null;
  const compare: Compare = { key, target: 'modRevision', equals: entry?.modRevision ?? 0 };
  return { compare, write: { kind: 'put', key, value } as const };
}

function hasNoKey(key: string): Compare {
  return { key, target: 'createRevision', equals: 0 };
}

function isSame(known: Eligibility, change: EligibilityChange): boolean {
  return (
    known.state === change.state &&
    known.drainDeadlineMs === change.drainDeadlineMs &&
    known.confirmed === change.confirmed &&
    (known.by === change.by || known.by === '') &&
    (known.reason === change.reason || known.reason === '')
  );
}
