/**
 * A DNS server: `dns.ts` has its sockets and bounds, `messages.ts` what lies in a packet (with dns-packet).
 */
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer, isIPv6 } from 'node:net';
import type { DnsAddress, DnsAnswer, DnsListener, DnsQuestion, DnsServer } from '../../ports/dns.ts';
import { answerMessage, readMessage, refusalOf } from './messages.ts';

type Answer = (question: DnsQuestion) => Promise<DnsAnswer>;

/** Questions under way; more are dropped, and asked again by who waits for them. */
const PENDING_MAX = 1_000;
/** Packets in a second, whatever is in them: half of a processor for an agent that has tasks to look after. */
const PER_SECOND_MAX = 5_000;
const CONNECTIONS_MAX = 64;
const IDLE_MS = 5_000;
/** A question is at most a name of 255 bytes and some options. */
const QUESTION_BYTES_MAX = 4_096;
/** What an answer over TCP may have: its length stands before it in 16 bits. */
const TCP_BYTES_MAX = 65_535;
/** TCP and UDP are to have the same port, and a free one of the one may be taken of the other. */
const PORT_TRIES = 8;

export const dnsServer: DnsServer = boundedDnsServer(PER_SECOND_MAX);

/** @param perSecondMax packets; more are dropped */
export function boundedDnsServer(perSecondMax: number): DnsServer {
  return { listen: (at, answer) => listen(at, new Limits(answer, perSecondMax)) };
}

async function listen(at: DnsAddress, limits: Limits): Promise<DnsListener> {
  for (let tried = 1; ; tried++) {
    const tcp = await listenTcp(at, limits);
    const { port } = tcp.address() as AddressInfo;
    try {
      const udp = await listenUdp({ ...at, port }, limits);
      return listenerOf({ ...at, port }, { udp, tcp, limits });
    } catch (error) {
      tcp.close();
      if (at.port !== 0 || tried === PORT_TRIES) throw error;
    }
  }
}

class Limits {
  dropped = 0;
  readonly #answer: Answer;
  #pending = 0;
  #second = 0;
  #inSecond = 0;
  readonly #perSecondMax: number;

  constructor(answer: Answer, perSecondMax: number) {
    this.#answer = answer;
    this.#perSecondMax = perSecondMax;
  }

  /** May one more packet be looked at? */
  take(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) this.#inSecond = 0;
    this.#second = second;
    this.#inSecond += 1;
    if (this.#inSecond <= this.#perSecondMax && this.#pending < PENDING_MAX) return true;
    this.dropped += 1;
    return false;
  }

  async ask(question: DnsQuestion): Promise<DnsAnswer> {
    this.#pending += 1;
    try {
      return await this.#answer(question);
    } finally {
      this.#pending -= 1;
    }
  }
}

/** @returns null: there is no answer to such a packet, or not now */
async function reply(packet: Buffer, limits: Limits, overTcp: boolean): Promise<Buffer | null> {
  if (packet.length > QUESTION_BYTES_MAX || !limits.take()) return null;
  const message = readMessage(packet);
  if (message.kind === 'none') return null;
  if (message.kind === 'refused') return refusalOf(message);
  const found = await limits.ask(message.question);
  return answerMessage(message, found, overTcp ? TCP_BYTES_MAX : message.udpBytesMax);
}

async function listenUdp({ host, port }: DnsAddress, limits: Limits): Promise<UdpSocket> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.on('message', (packet, from) => {
    reply(packet, limits, false).then(
      // An asker that is gone is none of our business.
      (bytes) => bytes !== null && socket.send(bytes, from.port, from.address, () => undefined),
      () => undefined,
    );
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(port, host, () => {
      socket.off('error', reject);
      resolve();
    });
  });
  // As when the peer of an answer has gone.
  socket.on('error', () => undefined);
  return socket;
}

async function listenTcp({ host, port }: DnsAddress, limits: Limits): Promise<Server> {
  const server = createServer((socket) => serve(socket, limits));
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined);
  return server;
}

/** Questions of one connection, one after the other. */
function serve(socket: Socket, limits: Limits): void {
  let held: Buffer = Buffer.alloc(0);
  let working = Promise.resolve();
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.on('error', () => socket.destroy());
  const one = async (packet: Buffer): Promise<void> => {
    const bytes = await reply(packet, limits, true);
    if (bytes === null) socket.destroy();
    else if (!socket.destroyed) socket.write(Buffer.concat([lengthOf(bytes), bytes]));
  };
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
      const end = 2 + held.readUInt16BE(0);
      const packet = held.subarray(2, end);
      held = held.subarray(end);
      // One that asks without waiting for answers is read no further than them.
      socket.pause();
      working = working
        .then(() => one(packet))
        .catch(() => void socket.destroy())
        .finally(() => socket.resume());
    }
  });
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return length;
}

function listenerOf(
  at: DnsAddress,
  { udp, tcp, limits }: { readonly udp: UdpSocket; readonly tcp: Server; readonly limits: Limits },
): DnsListener {
  const open = new Set<Socket>();
  tcp.on('connection', (socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  return {
    ...at,
    takeDropped: () => {
      const { dropped } = limits;
      limits.dropped = 0;
      return dropped;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ]);
    },
  };
}
