import type { Answer, OptAnswer, Packet, PacketOpt, Question } from 'dns-packet';
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_DESIRED, TRUNCATED_RESPONSE } from 'dns-packet';
import type { DnsAnswer, DnsCode, DnsNote, DnsQuestion, DnsRecord } from '../../ports/dns.ts';

/** A packet that came: a question, or what is to be refused, or nothing that has an answer. */
export type DnsMessage = AskedMessage | RefusedMessage | { readonly kind: 'none' };

export interface AskedMessage {
  readonly kind: 'asked';
  readonly id: number;
  readonly question: DnsQuestion;
  /** As it was written: an answer repeats the letters. */
  readonly asked: string;
  readonly recursion: boolean;
  /** Whether the asker knows of EDNS. */
  readonly edns: boolean;
  /** What it takes over UDP. */
  readonly udpBytesMax: number;
}

export interface RefusedMessage {
  readonly kind: 'refused';
  readonly id: number;
  readonly opcode: number;
  readonly code: 'malformed' | 'not-implemented' | 'refused';
}

const HEADER_BYTES = 12;
const OPCODE_QUERY = 0;
/** Without EDNS (RFC 1035), and what passes every path in one piece with it (DNS flag day 2020). */
const [UDP_BYTES, EDNS_BYTES_MAX] = [512, 1_232];
/** Of extended errors (RFC 8914), and its codes. */
const NOTE_OPTION = 15;
const NOTE_CODES: Readonly<Record<DnsNote['kind'], number>> = { stale: 3, 'not-ready': 14 };

const CODES: Readonly<Record<DnsCode | RefusedMessage['code'], number>> = {
  ok: 0,
  malformed: 1,
  failed: 2,
  'no-such-name': 3,
  'not-implemented': 4,
  refused: 5,
};

/** Never throws, whatever is in the packet. */
export function readMessage(bytes: Buffer): DnsMessage {
  if (bytes.length < HEADER_BYTES) return { kind: 'none' };
  const [id, flags] = [bytes.readUInt16BE(0), bytes.readUInt16BE(2)];
  // An answer to an answer would go on for ever between two servers.
  if ((flags & 0x8000) !== 0) return { kind: 'none' };
  const opcode = (flags >> 11) & 0xf;
  const refused = { kind: 'refused', id, opcode } as const;
  if (opcode !== OPCODE_QUERY) return { ...refused, code: 'not-implemented' };
  const packet = decoded(bytes);
  const [question, more] = packet?.questions ?? [];
  if (packet === null || question === undefined || more !== undefined)
    return { ...refused, code: 'malformed' };
  if (question.class !== 'IN') return { ...refused, code: 'refused' };
  const opt = packet.additionals?.find((record) => record.type === 'OPT');
  const size = opt?.type === 'OPT' ? opt.udpPayloadSize : UDP_BYTES;
  return {
    ...{ kind: 'asked', id, asked: question.name, edns: opt !== undefined },
    question: { name: question.name.toLowerCase(), type: question.type },
    recursion: (flags & RECURSION_DESIRED) !== 0,
    udpBytesMax: Math.min(EDNS_BYTES_MAX, Math.max(UDP_BYTES, size)),
  };
}

/**
 * @param bytesMax where there is more, what nobody asked for goes first; then it has as many answers as there is room for, is
 *   marked as truncated, and is asked for again over TCP
 */
export function answerMessage(message: AskedMessage, answer: DnsAnswer, bytesMax: number): Buffer {
  const whole = packetOf(message, answer);
  const additionals = optOf(message, answer);
  const full = encode({
    ...whole,
    additionals: [...(answer.additionals ?? []).map(recordOf), ...additionals],
  });
  if (full.length <= bytesMax) return full;
  const bare = encode({ ...whole, additionals });
  if (bare.length <= bytesMax) return bare;
  const flags = (whole.flags ?? 0) | TRUNCATED_RESPONSE;
  const head = encode({ ...whole, flags, answers: [], additionals });
  const answers = fitting(whole.answers ?? [], bytesMax - head.length);
  return answers.length === 0 ? head : encode({ ...whole, flags, answers, additionals });
}

/** A bare header. */
export function refusalOf({ id, opcode, code }: RefusedMessage): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt16BE(0x8000 | (opcode << 11) | CODES[code], 2);
  return bytes;
}

/** The decoder throws what it comes upon in a broken packet. */
function decoded(bytes: Buffer): Packet | null {
  try {
    return decode(bytes);
  } catch {
    return null;
  }
}

function packetOf(message: AskedMessage, answer: DnsAnswer): Packet {
  const isOurs = answer.code === 'ok' || answer.code === 'no-such-name';
  const flags =
    CODES[answer.code] | (isOurs ? AUTHORITATIVE_ANSWER : 0) | (message.recursion ? RECURSION_DESIRED : 0);
  return {
    ...{ type: 'response', id: message.id, flags },
    questions: [{ name: message.asked, type: message.question.type as Question['type'] }],
    answers: answer.answers.map(recordOf),
    authorities: soaOf(answer),
  };
}

/** The first ones that have room. */
function fitting(answers: readonly Answer[], bytesMax: number): Answer[] {
  let left = bytesMax;
  const fit: Answer[] = [];
  for (const answer of answers) {
    left -= encode({ type: 'response', answers: [answer] }).length - HEADER_BYTES;
    if (left < 0) break;
    fit.push(answer);
  }
  return fit;
}

function recordOf(record: DnsRecord): Answer {
  const { name, ttl } = record;
  const base = { name, ttl, class: 'IN' as const };
  if (record.type === 'SRV')
    return { ...base, type: 'SRV', data: { ...record.data, priority: 0, weight: 1 } };
  return { ...base, type: record.type, data: record.data };
}

function soaOf({ authority }: DnsAnswer): Answer[] {
  if (authority === undefined) return [];
  const { zone, ttl } = authority;
  const times = { serial: 1, refresh: 60, retry: 60, expire: 60, minimum: ttl };
  const data = { mname: `ns.${zone}`, rname: `hostmaster.${zone}`, ...times };
  return [{ name: zone, ttl, class: 'IN', type: 'SOA', data }];
}

function optOf({ edns }: AskedMessage, { note }: DnsAnswer): OptAnswer[] {
  if (!edns) return [];
  // The library's types know no options but those that it reads itself; it writes any.
  const options =
    note === undefined ? [] : [{ code: NOTE_OPTION, data: noteBytes(note) } as unknown as PacketOpt];
  return [
    {
      ...{ type: 'OPT', name: '.', udpPayloadSize: EDNS_BYTES_MAX, extendedRcode: 0 },
      ...{ ednsVersion: 0, flags: 0, flag_do: false, options },
    },
  ];
}

function noteBytes({ kind, text }: DnsNote): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(NOTE_CODES[kind], 0);
  return Buffer.concat([bytes, Buffer.from(text)]);
}
