/**
 * What a host leases to its allocations. A start takes a lease here for its ports and addresses before it is accepted; the
 * allocation releases them when nothing of it is left. `lease-store.ts` keeps each lease on disk, so that it holds while
 * the allocation's own record cannot be read. `task-users.ts` gives each allocation a user id of the host's range, and one
 * with a user namespace a range of them that no other one of the machine has (`mapped-ids.ts`).
 */
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { PortRange } from '../../src/core/host/host.ts';
import { ADDRESSES } from '../../src/core/cell/resources.ts';
import type { AgentPorts } from '../ports.ts';
import { LeaseStore } from './lease-store.ts';
import type { IdRange } from '../../src/core/host/shim.ts';
import { mappedIds } from './mapped-ids.ts';
import type { UserRange } from './task-users.ts';
import { IDS_EACH, TaskUsers } from './task-users.ts';

/** Addresses that a refusal names: it goes into reasons that people read. */
const NAMED_MAX = 4;

/** Why something cannot be lent, for people. */
export interface NotLeased {
  readonly what: 'port' | 'address' | 'user';
  readonly why: string;
}

/** What an allocation has of its host, besides the ports that its scheduler chose. */
export interface Lent {
  readonly addresses?: readonly string[];
  /** Its user, and the group of the same number. Absent: tasks run as the agent's user. */
  readonly uid?: number;
  /** Of its user namespace, and the groups of the same numbers. Absent: it has none. */
  readonly ids?: IdRange;
}

export interface LeaseOptions {
  /** Addresses of this machine for tasks; empty: tasks share the host's. */
  readonly addresses: readonly string[];
  /** How long what is freed rests. */
  readonly restMs: number;
  /** Users for tasks; null: they run as the agent's. */
  readonly users: UserRange | null;
  /** For user namespaces of tasks; null: they have none. */
  readonly ids: UserRange | null;
  portRange(): PortRange;
}

type LeasePorts = Pick<AgentPorts, 'disk' | 'clock' | 'log' | 'metrics' | 'processes' | 'commands'>;

/**
 * What this host lends to allocations, for as long as anything of them is left: ports, which schedulers choose, and
 * addresses, of which they claim a number (the scalar `addresses`) and the host chooses which.
 */
export class Leases {
  readonly #ports: LeasePorts;
  readonly #options: LeaseOptions;
  readonly ports: LeaseStore;
  readonly addresses: LeaseStore;
  /** null: tasks run as the agent's user. */
  readonly users: TaskUsers | null;
  /** For user namespaces; null: no task has one. */
  readonly ids: TaskUsers | null;
  /** Choosing looks first and takes then: one at a time. */
  #choosing: Promise<unknown> = Promise.resolve();

  constructor(ports: LeasePorts, options: LeaseOptions) {
    this.#ports = ports;
    this.#options = options;
    this.ports = new LeaseStore(ports, 'port', options.restMs);
    this.addresses = new LeaseStore(ports, 'address', options.restMs);
    const { users, ids } = options;
    const { commands } = ports;
    this.users = users === null ? null : new TaskUsers(ports, { kind: 'user', range: users, each: 1 });
    this.ids =
      ids === null
        ? null
        : new TaskUsers(ports, {
            ...{ kind: 'ids', range: ids, each: IDS_EACH },
            ...(commands === undefined ? {} : { inUse: () => mappedIds(commands) }),
          });
  }

  /** Takes over what an earlier agent lent. */
  async open(): Promise<void> {
    await this.ports.open();
    await this.addresses.open();
    await this.users?.open();
    await this.ids?.open();
    await this.forgetRested();
  }

  /**
   * For a newcomer. @returns what it has now, or why it cannot be lent what it claims; then it has nothing of it
   * @param asksIds its tasks are to have a user namespace; they get none where the host makes none
   */
  async lease(allocation: Allocation, asksIds = false): Promise<Lent | NotLeased> {
    const { id } = allocation;
    const names = portsOf(allocation);
    const user = userOf(allocation);
    const rests = await this.#restOf(names, user);
    if (rests !== null) return { what: 'port', why: rests };
    const taken = await this.ports.take(id, names);
    if (taken !== null)
      return { what: 'port', why: `port ${taken.name} of this host still belongs to ${taken.holder}` };
    const addresses = await this.#lendAddresses(id, user, allocation.resources.scalars[ADDRESSES] ?? 0);
    if ('why' in addresses) {
      await this.revoke(allocation, {});
      return addresses;
    }
    const got = await this.#lendUsers(id, asksIds);
    if (!('why' in got)) return { ...(addresses.length === 0 ? {} : { addresses }), ...got };
    await this.revoke(allocation, { addresses });
    return got;
  }

  /** @returns what it has of them now, or why it has nothing of them */
  async #lendUsers(id: string, asksIds: boolean): Promise<Pick<Lent, 'uid' | 'ids'> | NotLeased> {
    const uid = await this.users?.lend(id);
    if (uid === null) return { what: 'user', why: 'all users for tasks of this host are taken' };
    const own = uid === undefined ? {} : { uid };
    const first = asksIds ? await this.ids?.lend(id) : undefined;
    if (first !== null) return first === undefined ? own : { ...own, ids: { first, count: IDS_EACH } };
    if (uid !== undefined) await this.users?.free(id, uid);
    return { what: 'user', why: 'all ranges of ids for user namespaces are taken on this host' };
  }

  /** What somebody has already, as an agent finds it that takes tasks over: also in a folder that has no leases yet. */
  async hold({ id, ...allocation }: Allocation, { addresses = [], uid, ids }: Lent): Promise<void> {
    await this.ports.take(id, portsOf(allocation));
    await this.addresses.take(id, addresses);
    if (uid !== undefined) await this.users?.hold(id, uid);
    if (ids !== undefined) await this.ids?.hold(id, ids.first);
  }

  /** Nothing of it is left here: what it had rests. */
  release(allocation: Allocation, lent: Lent): Promise<void> {
    return this.#free(allocation, lent, userOf(allocation));
  }

  /** It was never begun: what it had needs no rest. */
  revoke(allocation: Allocation, lent: Lent): Promise<void> {
    return this.#free(allocation, lent, null);
  }

  async #free(
    allocation: Allocation,
    { addresses = [], uid, ids }: Lent,
    user: string | null,
  ): Promise<void> {
    const { id } = allocation;
    await this.ports.free(id, portsOf(allocation), user);
    await this.addresses.free(id, addresses, user);
    if (uid !== undefined) await this.users?.free(id, uid);
    if (ids !== undefined) await this.ids?.free(id, ids.first);
  }

  /** Of ports, which are many and are chosen elsewhere. Addresses keep their order. */
  forgetRested(): Promise<void> {
    return this.ports.forgetRested();
  }

  /** A port that rests is refused while another one could be chosen. @returns why; null when all may be taken */
  async #restOf(names: readonly string[], user: string): Promise<string | null> {
    const tired = names.find((name) => this.ports.restsMs(name, user) > 0);
    if (tired === undefined) return null;
    const { first, last } = this.#options.portRange();
    const held = (await this.ports.all()).size + this.ports.resting().length;
    const leftMs = this.ports.restsMs(tired, user);
    if (held < last - first + 1)
      return `port ${tired} was freed just now, and is to rest for ${String(Math.ceil(leftMs / 1000))} s more`;
    this.#tellEarly('port', tired, leftMs);
    return null;
  }

  #lendAddresses(id: string, user: string, count: number): Promise<readonly string[] | NotLeased> {
    if (count === 0) return Promise.resolve([]);
    const chosen = this.#choosing.then(() => this.#choose(id, user, count));
    this.#choosing = chosen.catch(() => undefined);
    return chosen;
  }

  async #choose(id: string, user: string, count: number): Promise<readonly string[] | NotLeased> {
    const unlent = await this.#unlentTo(id);
    const strangers = new Set(await this.#ports.processes.addressesInUse(unlent));
    if (strangers.size > 0) this.#tellStrangers([...strangers]);
    const free = unlent.filter((address) => !strangers.has(address));
    if (free.length < count) return { what: 'address', why: shortText(count, free.length, [...strangers]) };
    const chosen = free.slice(0, count);
    for (const address of chosen) {
      const leftMs = this.addresses.restsMs(address, user);
      if (leftMs > 0) this.#tellEarly('address', address, leftMs);
    }
    const taken = await this.addresses.take(id, chosen);
    if (taken !== null) throw new Error(`address ${taken.name} is free, and belongs to ${taken.holder}`);
    return chosen;
  }

  /** Least recently freed first; what it has of an earlier try before all. */
  async #unlentTo(id: string): Promise<readonly string[]> {
    const holders = await this.addresses.all();
    const resting = this.addresses.resting();
    return this.#options.addresses
      .filter((address) => (holders.get(address) ?? id) === id)
      .map((address) => ({ address, rank: holders.has(address) ? -2 : resting.indexOf(address) }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ address }) => address);
  }

  /** Somebody has a socket on an address that is lent to nobody: nobody gets it while that is so. */
  #tellStrangers(addresses: readonly string[]): void {
    this.#ports.metrics.count('moorage_host_strangers_total', { kind: 'address' }, addresses.length);
    this.#ports.log.warn({ addresses }, 'in use by somebody to whom they are not lent');
  }

  /** Used again before it has rested, since nothing else is left: not hidden (S1.33). */
  #tellEarly(kind: 'port' | 'address', name: string, leftMs: number): void {
    this.#ports.metrics.count('moorage_host_leases_early_total', { kind });
    this.#ports.log.warn({ kind, name, leftMs: Math.round(leftMs) }, 'lent again before it has rested');
  }
}

function shortText(needed: number, free: number, strangers: readonly string[]): string {
  const short = `${ADDRESSES}: ${String(needed)} needed, ${String(free)} available`;
  if (strangers.length === 0) return short;
  const named = strangers.slice(0, NAMED_MAX).join(', ');
  const more = strangers.length > NAMED_MAX ? ` and ${String(strangers.length - NAMED_MAX)} more` : '';
  return `${short}; in use on this host by others: ${named}${more}`;
}

function portsOf(allocation: Pick<Allocation, 'ports'>): readonly string[] {
  return Object.values(allocation.ports).map(String);
}

/** Who may have again at once what it had: whoever talked to it wanted this job. */
function userOf({ namespace, job }: Allocation): string {
  return `${namespace}/${job}`;
}
