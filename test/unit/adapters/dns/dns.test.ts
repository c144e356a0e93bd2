import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { OptAnswer, Packet } from 'dns-packet';
import { decode, encode } from 'dns-packet';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { boundedDnsServer, dnsServer } from '../../../../src/adapters/dns/dns.ts';
import { answerMessage, readMessage } from '../../../../src/adapters/dns/messages.ts';
import type { DnsAnswer, DnsListener, DnsQuestion } from '../../../../src/ports/dns.ts';

const listeners: DnsListener[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

const addresses = (count: number): DnsAnswer => ({
  code: 'ok',
  answers: Array.from({ length: count }, (_, n) => ({
    ...{ name: 'x.moorage', ttl: 1, type: 'A' as const, data: `10.0.${String(n >> 8)}.${String(n & 255)}` },
  })),
});

async function serving(answer: (question: DnsQuestion) => Promise<DnsAnswer>): Promise<DnsListener> {
  const listener = await dnsServer.listen({ host: '127.0.0.1', port: 0 }, answer);
  listeners.push(listener);
  return listener;
}

async function resolver(answer: DnsAnswer): Promise<Resolver> {
  const { port } = await serving(async () => answer);
  const found = new Resolver({ timeout: 2_000, tries: 1 });
  found.setServers([`127.0.0.1:${String(port)}`]);
  return found;
}

const question = (more: Partial<Packet> = {}): Buffer =>
  encode({ type: 'query', id: 7, questions: [{ name: 'X.moorage', type: 'A' }], ...more });

async function overUdp(port: number, packet: Buffer): Promise<Buffer> {
  const socket = createSocket('udp4');
  try {
    const answered = once(socket, 'message') as Promise<[Buffer]>;
    socket.send(packet, port, '127.0.0.1');
    return (await answered)[0];
  } finally {
    socket.close();
  }
}

describe('a DNS server', () => {
  it('answers a resolver over UDP, and over TCP what has no room there', async () => {
    const few = await resolver(addresses(2));
    expect(await few.resolve4('x.moorage', { ttl: true })).toEqual([
      { address: '10.0.0.0', ttl: 1 },
      { address: '10.0.0.1', ttl: 1 },
    ]);
    const many = await resolver(addresses(400));
    expect(await many.resolve4('x.moorage')).toHaveLength(400);
  });

  it('tells a name of nothing, a name without such records, and what is not known apart', async () => {
    const code = async (answer: DnsAnswer): Promise<string> => {
      const found = await (await resolver(answer)).resolve4('x.moorage').catch((error: unknown) => error);
      return (found as NodeJS.ErrnoException).code ?? '';
    };
    const authority = { zone: 'moorage', ttl: 1 };
    expect(await code({ code: 'no-such-name', answers: [], authority })).toBe('ENOTFOUND');
    expect(await code({ code: 'ok', answers: [], authority })).toBe('ENODATA');
    expect(await code({ code: 'failed', answers: [] })).toBe('ESERVFAIL');
    expect(await code({ code: 'refused', answers: [] })).toBe('EREFUSED');
  });

  it('marks what it cut as truncated, and keeps to what the asker takes', async () => {
    const { port } = await serving(async () => addresses(400));
    const plain = await overUdp(port, question());
    expect(plain.length).toBeLessThanOrEqual(512);
    const answer = decode(plain);
    expect([answer.flag_tc, answer.flag_aa, answer.questions?.[0]?.name]).toEqual([true, true, 'X.moorage']);
    expect(answer.answers?.length).toBeGreaterThan(5);
    const opt: OptAnswer = {
      ...{ type: 'OPT', name: '.', udpPayloadSize: 4_096, extendedRcode: 0, ednsVersion: 0 },
      ...{ flags: 0, flag_do: false, options: [] },
    };
    const wide = await overUdp(port, question({ additionals: [opt] }));
    expect(wide.length).toBeGreaterThan(1_000);
    expect(wide.length).toBeLessThanOrEqual(1_232);
  });

  it('says why to who knows of such notes (RFC 8914)', () => {
    const opt: OptAnswer = {
      ...{ type: 'OPT', name: '.', udpPayloadSize: 4_096, extendedRcode: 0, ednsVersion: 0 },
      ...{ flags: 0, flag_do: false, options: [] },
    };
    const noted: DnsAnswer = { ...addresses(1), note: { kind: 'stale', text: 'of a while ago' } };
    const noteIn = (packet: Buffer): string | undefined => {
      const message = readMessage(packet);
      if (message.kind !== 'asked') throw new Error(message.kind);
      const found = decode(answerMessage(message, noted, 512)).additionals?.[0];
      return found?.type === 'OPT' ? found.options[0]?.data?.toString('latin1') : undefined;
    };
    expect(noteIn(question({ additionals: [opt] }))).toBe('\0\u0003of a while ago');
    expect(noteIn(question())).toBeUndefined();
  });

  it('refuses what is no question, and answers no answer', async () => {
    const { port } = await serving(async () => addresses(1));
    const rcodeOf = async (packet: Buffer): Promise<string | undefined> =>
      (decode(await overUdp(port, packet)) as Packet & { rcode?: string }).rcode;
    expect(await rcodeOf(question({ questions: [] }))).toBe('FORMERR');
    expect(await rcodeOf(question({ questions: Array(2).fill({ name: 'x', type: 'A' }) as [] }))).toBe(
      'FORMERR',
    );
    expect(await rcodeOf(question({ flags: 4 << 11 }))).toBe('NOTIMP');
    expect(await rcodeOf(question({ questions: [{ name: 'x', type: 'A', class: 'CH' }] }))).toBe('REFUSED');
    expect(readMessage(encode({ type: 'response', id: 1 })).kind).toBe('none');
    expect(readMessage(Buffer.alloc(5)).kind).toBe('none');
  });

  it('is not brought down by any packet', async () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((list) => Buffer.from(list));
    const bent = fc.tuple(fc.nat(30), fc.nat(255)).map(([at, byte]) => {
      const packet = question();
      packet[at % packet.length] = byte;
      return packet;
    });
    fc.assert(
      fc.property(fc.oneof(bytes, bent), (packet) => {
        const message = readMessage(packet);
        if (message.kind === 'asked')
          expect(answerMessage(message, addresses(30), 512).length).toBeLessThan(513);
      }),
    );
    const { port } = await serving(async () => addresses(1));
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    // Longer than any question.
    socket.write(Buffer.concat([Buffer.from([0x20, 0x00]), Buffer.alloc(0x2000)]));
    await once(socket, 'close');
    expect(decode(await overUdp(port, question())).answers).toHaveLength(1);
  });

  it('answers so many in a second and no more, and counts the rest', async () => {
    const bounded = boundedDnsServer(20);
    const listener = await bounded.listen({ host: '127.0.0.1', port: 0 }, async () => addresses(1));
    listeners.push(listener);
    const packet = question();
    const framed = Buffer.concat([Buffer.from([0, packet.length]), packet]);
    const socket = connect(listener.port, '127.0.0.1');
    // Two seconds' worth, in whatever seconds they come; cut at the first that is too many.
    socket.resume().write(Buffer.concat(Array<Buffer>(100).fill(framed)));
    await once(socket, 'close');
    expect(listener.takeDropped()).toBeGreaterThan(0);
    expect(listener.takeDropped()).toBe(0);
  });
});
