import type { Host } from '../../src/core/host/host.ts';
import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Names } from '../../src/ports/names.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { hostCodec, roleCodec } from '../../src/wire/records/records.ts';
import type { Endpoint } from './ruleset.ts';

export interface ControlPlaneDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly names: Names;
  /** Addresses of the store's members as they were given to this agent, and of the agent itself. */
  readonly fixed: () => readonly string[];
  /** Those that the store says itself, for its members' own use too. */
  readonly members: () => Promise<readonly string[]>;
  readonly onChange: (endpoints: readonly Endpoint[]) => void;
}

/**
 * Hosts are many and change seldom: all agents of a cell together read them no more often than this for each of them, and
 * never oftener than the least.
 */
const HOSTS_EVERY_MS = { least: 5_000, perHost: 1_000 };

/** Follows where roles and agents of a cell are reached. */
export class ControlPlane {
  readonly #deps: ControlPlaneDeps;
  readonly #roles: Table<RoleRecord>;
  /** Of hosts, and of the store's members. */
  #read: readonly string[] = [];
  #cancel: () => void = () => undefined;
  #closed = false;
  /** Names are resolved in turn: the last word stands. */
  #telling: Promise<void> = Promise.resolve();
  #told = '';

  constructor(deps: ControlPlaneDeps) {
    this.#deps = deps;
    const onChange = (): void => this.#tell();
    this.#roles = new Table(deps.store, deps.keys.roles, roleCodec, { onChange });
    // Closed before the first answer: then nobody waits for it either.
    this.#roles.ready.then(onChange, () => undefined);
    this.#tell();
    void this.#readHosts();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
    this.#roles.close();
  }

  async #readHosts(): Promise<void> {
    const { store, keys, clock, log, members } = this.#deps;
    try {
      const { entries } = await store.list(keys.hosts);
      this.#read = [...[...entries.values()].map(({ value }) => addressIn(value)), ...(await members())];
      this.#tell();
    } catch (error) {
      log.debug({ error }, 'cannot read where other agents and the members of the store are');
    }
    if (this.#closed) return;
    const { least, perHost } = HOSTS_EVERY_MS;
    this.#cancel = clock.after(Math.max(least, this.#read.length * perHost), () => void this.#readHosts());
  }

  #tell(): void {
    this.#telling = this.#telling
      .then(() => this.#resolveAll())
      .catch((error: unknown) => {
        this.#deps.log.warn({ error }, 'cannot tell where the control plane is');
      });
  }

  async #resolveAll(): Promise<void> {
    if (this.#closed) return;
    const { names, fixed, onChange } = this.#deps;
    const own = new Set(names.own());
    const roles = [...this.#roles.rows()].map(([, { value }]) => value.address);
    const endpoints: Endpoint[] = [];
    for (const url of new Set([...fixed(), ...roles, ...this.#read])) {
      const at = placeOf(url);
      if (at === null) continue;
      for (const address of await names.resolve(at.host))
        endpoints.push({ address, port: at.port, local: own.has(address) || isLoopback(address) });
    }
    const text = JSON.stringify(endpoints);
    if (text === this.#told || this.#closed) return;
    this.#told = text;
    onChange(endpoints);
  }
}

function addressIn(record: string): string {
  try {
    const host: Pick<Host, 'address'> = hostCodec.decode(record);
    return host.address;
  } catch {
    // Of a newer version, or broken: nobody reaches it by this record.
    return '';
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

const PORT_OF: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function placeOf(url: string): { readonly host: string; readonly port: number } | null {
  if (url === '') return null;
  const whole = url.includes('://') ? url : `http://${url}`;
  if (!URL.canParse(whole)) return null;
  const { hostname, port, protocol } = new URL(whole);
  return {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: port === '' ? (PORT_OF[protocol] ?? 80) : Number(port),
  };
}
