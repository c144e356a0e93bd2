import type { AgentPorts } from '../ports.ts';

const FOLDER = 'leases';

/** What cannot be leased, because somebody has it. */
export interface Taken {
  readonly name: string;
  readonly holder: string;
}

interface Rest {
  readonly user: string;
  /** Monotonic: when it is over. */
  readonly untilMs: number;
}

/**
 * Which allocation has which of a host's ports, or addresses, on disk: so that each stays its own while its record cannot
 * be read, and until it is confirmed released, whatever the agent's memory holds (I45).
 *
 * What is freed rests: somebody may still be talking to whoever had it. For a while nobody gets it but the job that had
 * it, as far as that can be helped (S1.3). Not synced: what holds it dies with the machine's power.
 */
export class LeaseStore {
  readonly #ports: Pick<AgentPorts, 'disk' | 'clock'>;
  readonly #room: string;
  readonly #rests: string;
  readonly #restMs: number;
  /** Least recently freed first. */
  readonly #resting = new Map<string, Rest>();

  /** @param kind folder of these leases @param restMs how long what is freed rests */
  constructor(
    ports: Pick<AgentPorts, 'disk' | 'clock'>,
    kind: 'port' | 'address' | 'user' | 'ids',
    restMs: number,
  ) {
    this.#ports = ports;
    this.#room = `${FOLDER}/${kind}`;
    this.#rests = `${FOLDER}/rest-${kind}`;
    this.#restMs = restMs;
  }

  /** Takes over what an earlier agent let rest. */
  async open(): Promise<void> {
    const { disk, clock } = this.#ports;
    const found: { name: string; user: string; atMs: number }[] = [];
    for (const name of await disk.list(this.#rests)) {
      const [atMs = '', user = ''] = ((await disk.read(`${this.#rests}/${name}`)) ?? '').split(' ');
      found.push({ name, user, atMs: Number(atMs) || 0 });
    }
    for (const { name, user, atMs } of found.sort((a, b) => a.atMs - b.atMs)) {
      // A clock that was set back makes nothing rest for longer than it would from now.
      const leftMs = Math.min(atMs + this.#restMs - clock.nowMs(), this.#restMs);
      this.#resting.set(name, { user, untilMs: clock.monotonicMs() + leftMs });
    }
  }

  /** Takes all or none, rested or not. @returns what somebody else has; null when all are taken */
  async take(id: string, names: readonly string[]): Promise<Taken | null> {
    const taken: string[] = [];
    for (const name of names) {
      const made = await this.#ports.disk.publish(this.#pathOf(name), id, { durable: false });
      const holder = made === 'published' ? id : await this.holderOf(name);
      if (holder === id) {
        taken.push(name);
        continue;
      }
      for (const own of taken) await this.#ports.disk.remove(this.#pathOf(own));
      return { name, holder: holder ?? '' };
    }
    return null;
  }

  /**
   * Gives back those that this allocation has; another one's stay.
   * @param user who may have them again before they have rested; null: whoever had them never used them
   */
  async free(id: string, names: readonly string[], user: string | null): Promise<void> {
    for (const name of names) {
      if ((await this.holderOf(name)) !== id) continue;
      if (user !== null) await this.#rest(name, user);
      await this.#ports.disk.remove(this.#pathOf(name));
    }
  }

  /** @returns null when nobody has it */
  holderOf(name: string): Promise<string | null> {
    return this.#ports.disk.read(this.#pathOf(name));
  }

  /** Holders by what they have. */
  async all(): Promise<ReadonlyMap<string, string>> {
    const leases = new Map<string, string>();
    for (const name of await this.#ports.disk.list(this.#room)) {
      const holder = await this.holderOf(name);
      if (holder !== null) leases.set(name, holder);
    }
    return leases;
  }

  /** How long it is still to rest for this user; 0: it has rested. */
  restsMs(name: string, user: string): number {
    const rest = this.#resting.get(name);
    if (rest === undefined || rest.user === user) return 0;
    return Math.max(0, rest.untilMs - this.#ports.clock.monotonicMs());
  }

  /** What was freed and not forgotten since, least recently freed first. */
  resting(): readonly string[] {
    return [...this.#resting.keys()];
  }

  /** Takes away the records of what has rested: then nobody knows any more when it was freed. */
  async forgetRested(): Promise<void> {
    const nowMs = this.#ports.clock.monotonicMs();
    for (const [name, { untilMs }] of [...this.#resting]) {
      if (untilMs > nowMs) continue;
      this.#resting.delete(name);
      await this.#ports.disk.remove(`${this.#rests}/${name}`);
    }
  }

  async #rest(name: string, user: string): Promise<void> {
    const { disk, clock } = this.#ports;
    this.#resting.delete(name);
    this.#resting.set(name, { user, untilMs: clock.monotonicMs() + this.#restMs });
    const path = `${this.#rests}/${name}`;
    await disk.remove(path);
    await disk.publish(path, `${String(Math.round(clock.nowMs()))} ${user}`, { durable: false });
  }

  #pathOf(name: string): string {
    return `${this.#room}/${name}`;
  }
}
