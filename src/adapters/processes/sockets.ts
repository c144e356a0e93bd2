import { readFile } from 'node:fs/promises';

/** A row of the kernel's tables of sockets. */
interface Socket {
  /** In hex, as the kernel writes it. */
  readonly address: string;
  readonly port: number;
  readonly state: string;
}

const LISTEN = '0A';
/** Of a datagram socket: bound, and not connected. */
const BOUND = '07';

/** Ports with a listener, on whatever address. */
export async function listeningPorts(): Promise<ReadonlySet<number>> {
  const sockets = await socketsOf(['tcp', 'tcp6']);
  return new Set(sockets.filter(({ state }) => state === LISTEN).map(({ port }) => port));
}

/** IPv4 addresses, other than "any", with a listener or a bound datagram socket. */
export async function boundAddresses(): Promise<ReadonlySet<string>> {
  const listening = (await socketsOf(['tcp', 'tcp6'])).filter(({ state }) => state === LISTEN);
  const bound = (await socketsOf(['udp', 'udp6'])).filter(({ state }) => state === BOUND);
  const addresses = [...listening, ...bound].map(({ address }) => ipv4Of(address));
  return new Set(addresses.filter((address) => address !== null));
}

async function socketsOf(tables: readonly string[]): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (const table of tables) {
    // A machine without IPv6 has no such tables.
    const text = await readFile(`/proc/net/${table}`, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local, , state] = line.trim().split(/\s+/);
      if (local === undefined || state === undefined) continue;
      const [address = '', port = ''] = local.split(':');
      sockets.push({ address, port: parseInt(port, 16), state });
    }
  }
  return sockets;
}

/** Before an IPv4 address of an IPv6 socket. */
const MAPPED = '0000000000000000FFFF0000';
const ANY = '0.0.0.0';

/** @returns null for what is none, and for "any" */
function ipv4Of(hex: string): string | null {
  const word = hex.startsWith(MAPPED) ? hex.slice(MAPPED.length) : hex;
  if (word.length !== 8) return null;
  // The kernel writes the word as this machine reads it.
  const address = new Uint8Array(Uint32Array.of(parseInt(word, 16)).buffer).join('.');
  return address === ANY ? null : address;
}
