import type { RemedyPolicy } from '../../src/core/detector/remedies.ts';
import { CLOSED_REASON, closedMax, isClosedForFault, poolOf } from '../../src/core/detector/remedies.ts';
import type { Entry } from '../../src/ports/cell-store.ts';
import { closedHostsCodec } from '../../src/wire/verdicts/verdict-records.ts';
import type { MonitorContext } from '../context.ts';
import type { Companion, EligibilityWriter } from '../hosts/eligibility.ts';

export interface ClosedHostsDeps extends MonitorContext {
  readonly eligibility: EligibilityWriter;
}

/**
 * Closes hosts for verdicts, and opens them again. Which hosts of a pool are closed stands in one record, that changes in the same
 * transaction as the eligibility: however many monitors act at once, never more than the pool's share is closed.
 */
export class HostCloser {
  readonly #deps: ClosedHostsDeps;

  constructor(deps: ClosedHostsDeps) {
    this.#deps = deps;
  }

  /** @returns null: it is closed; else why not, for people */
  async close(
    host: string,
    state: 'quarantined' | 'draining',
    why: string,
    policy: RemedyPolicy,
  ): Promise<string | null> {
    const { copy, eligibility, self } = this.#deps;
    const pool = this.#poolOf(host);
    if (pool === null) return `${host} is not registered`;
    const max = closedMax(policy, this.#hostsIn(pool));
    const companion = this.#companion(pool, (hosts) => {
      if (hosts.includes(host)) return hosts;
      return hosts.length >= max ? null : [...hosts, host].sort();
    });
    const change = { state, reason: `${CLOSED_REASON}${why}`, by: self };
    const found = await eligibility.set(host, change, ({ state: known }) => known === 'ready', companion);
    if (isClosedForFault(found)) return null;
    if (found.state !== 'ready') return `${host} is ${found.state} by ${found.by}`;
    const closed = copy.closedHosts.get(`pool/${pool}`)?.value.hosts.length ?? 0;
    return `${String(Math.min(closed, max))} of ${String(this.#hostsIn(pool))} hosts of ${poolText(pool)} are closed: no more may be`;
  }

  /** A host that is not closed for a verdict is left as it is. */
  async open(host: string, why: string): Promise<void> {
    const { copy, eligibility, self } = this.#deps;
    const pool = this.#poolOf(host);
    if (pool === null || copy.eligibility.get(host) === undefined) return;
    const companion = this.#companion(pool, (hosts) => hosts.filter((other) => other !== host));
    await eligibility.set(host, { state: 'ready', reason: why, by: self }, isClosedForFault, companion);
  }

  /** Frees the places of hosts that an operator opened, or that are gone. */
  async tidy(): Promise<void> {
    const { copy, store, keys } = this.#deps;
    for (const [name, { value, modRevision }] of [...copy.closedHosts.rows()]) {
      const opened = value.hosts.filter((host) => {
        const known = copy.eligibility.get(host)?.value;
        return known === undefined || !isClosedForFault(known);
      });
      if (opened.length === 0) continue;
      const hosts = value.hosts.filter((host) => !opened.includes(host));
      const key = keys.closedHosts + name;
      await store.attempt({
        compares: [
          { key, target: 'modRevision', equals: modRevision },
          // One that was just closed is not seen here yet: its place is not freed.
          ...opened.map((host) => ({
            key: keys.eligibilityOf(host),
            target: 'modRevision' as const,
            equals: copy.eligibility.get(host)?.modRevision ?? 0,
          })),
        ],
        writes: [{ kind: 'put', key, value: closedHostsCodec.encode({ hosts }) }],
        readBack: [],
      });
    }
  }

  #companion(pool: string, next: (hosts: readonly string[]) => readonly string[] | null): Companion {
    return {
      key: this.#deps.keys.closedHostsOf(pool),
      next: (found: Entry | undefined) => {
        const hosts = next(found === undefined ? [] : closedHostsCodec.decode(found.value).hosts);
        return hosts === null ? null : closedHostsCodec.encode({ hosts });
      },
    };
  }

  #poolOf(host: string): string | null {
    const known = this.#deps.copy.hostOf(host);
    return known === undefined ? null : poolOf(known);
  }

  #hostsIn(pool: string): number {
    let count = 0;
    for (const [host] of this.#deps.copy.hosts.rows()) if (this.#poolOf(host) === pool) count += 1;
    return count;
  }
}

function poolText(pool: string): string {
  return pool === '' ? 'the cell without a pool' : `pool ${pool}`;
}
