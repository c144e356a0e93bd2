import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Endpoint } from '../../src/core/names/endpoints.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { DnsAddress, DnsListener, DnsServer } from '../../src/ports/dns.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import { answerDns } from './dns-answers.ts';
import { NameFollower } from './name-follower.ts';
import { KnownNames } from './names.ts';

export interface HostNamesDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** How long after the last word of a monitor what is known is told. */
  readonly keptMs: number;
  /** Does an instance of this host not serve any more? */
  readonly isOver: (endpoint: Endpoint) => boolean;
}

/** An hour: as long as nobody places or ends anything, what was true stays true, but for what dies. */
export const NAMES_KEPT_MS = 3_600_000;
const COUNT_MS = 10_000;

/** The names of a host as a whole: what is known, who tells it, who is answered. */
export class HostNames {
  readonly known: KnownNames;
  readonly #deps: HostNamesDeps;
  readonly #ends: (() => Promise<void> | void)[] = [];

  constructor(deps: HostNamesDeps) {
    this.#deps = deps;
    this.known = new KnownNames(deps);
  }

  /** @returns where it answers: `127.0.0.1:8600` @throws Error of the system when nobody can listen there */
  async answer(server: DnsServer, at: DnsAddress): Promise<string> {
    const { random, log, metrics } = this.#deps;
    const source = { random, ask: (name: string) => this.known.ask(name) };
    const listener = await server.listen(at, async (question) => {
      const answer = await answerDns(source, question);
      metrics.count('moorage_host_dns_answers_total', { code: answer.code });
      return answer;
    });
    this.#ends.unshift(this.#countDropped(listener), () => listener.close());
    const dns = textOf(listener);
    log.info({ dns }, 'answers DNS');
    return dns;
  }

  /** From now on it is told by the monitors that the store lists; by those of before, while the store is away. */
  follow(store: CellStore, keys: CellKeys, http: HttpClient): void {
    const { clock, random, log } = this.#deps;
    const table = new Table(store, `${keys.roles}monitor/`, roleCodec);
    // Closed before the store has answered.
    table.ready.catch(() => undefined);
    const monitors = (): readonly string[] => [...table.rows()].map(([, { value }]) => value.address);
    const follower = new NameFollower({ http, clock, random, log, monitors }, this.known);
    this.#ends.unshift(async () => {
      table.close();
      await follower.close();
      await http.close();
    });
  }

  async close(): Promise<void> {
    this.known.close();
    for (const end of this.#ends.splice(0)) await end();
  }

  #countDropped(listener: DnsListener): () => void {
    const { clock, log, metrics } = this.#deps;
    return every(clock, COUNT_MS, () => {
      const dropped = listener.takeDropped();
      if (dropped === 0) return;
      metrics.count('moorage_host_dns_dropped_total', {}, dropped);
      log.warn({ dropped }, 'more questions over DNS than this host answers');
    });
  }
}

function textOf({ host, port }: DnsAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}
