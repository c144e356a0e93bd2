import type { AgentPorts } from './ports.ts';

const FOLDER = 'leases/port';

/**
 * Which allocation has which port of this host, on disk: so that a port stays its own while its record cannot be read, and
 * until it is confirmed released, whatever the agent's memory holds (I45). Not synced: what holds ports dies with the
 * machine's power.
 */
export class PortLeases {
  readonly #ports: AgentPorts;

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  /** Takes all or none. @returns the port that somebody else has, and who; null when all are taken */
  async take(id: string, ports: readonly number[]): Promise<{ port: number; holder: string } | null> {
    const taken: number[] = [];
    for (const port of ports) {
      const made = await this.#ports.disk.publish(pathOf(port), id, { durable: false });
      const holder = made === 'published' ? id : await this.holderOf(port);
      if (holder === id) {
        taken.push(port);
        continue;
      }
      for (const own of taken) await this.#ports.disk.remove(pathOf(own));
      return { port, holder: holder ?? '' };
    }
    return null;
  }

  /** Gives back those of the ports that this allocation has; another one's stay. */
  async free(id: string, ports: readonly number[]): Promise<void> {
    for (const port of ports)
      if ((await this.holderOf(port)) === id) await this.#ports.disk.remove(pathOf(port));
  }

  /** @returns null when nobody has it */
  holderOf(port: number): Promise<string | null> {
    return this.#ports.disk.read(pathOf(port));
  }

  async all(): Promise<ReadonlyMap<number, string>> {
    const leases = new Map<number, string>();
    for (const name of await this.#ports.disk.list(FOLDER)) {
      const port = Number(name);
      const holder = Number.isInteger(port) ? await this.holderOf(port) : null;
      if (holder !== null) leases.set(port, holder);
    }
    return leases;
  }
}

function pathOf(port: number): string {
  return `${FOLDER}/${String(port)}`;
}
