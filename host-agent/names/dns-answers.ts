import { SYSTEM_NAMESPACE } from '../../src/core/cell/ids.ts';
import type { Endpoint } from '../../src/core/names/endpoints.ts';
import { DNS_ZONE, nameText, readName } from '../../src/core/names/names.ts';
import type { DnsAnswer, DnsCode, DnsQuestion, DnsRecord } from '../../src/ports/dns.ts';
import type { Random } from '../../src/ports/random.ts';
import type { KnownName } from './names.ts';

/** In seconds. What is known here is a moment old already; who asks seldom gets what is true now. */
export const DNS_TTL = 1;
/** Of one name: more have no room over TCP. Who has more gets others each time. */
const ENDPOINTS_TOLD_MAX = 250;
const SUFFIX = `.${DNS_ZONE}`;
/** `7f000001.addr.moorage` is the address 127.0.0.1: what service records point to must be a name. */
const ADDRESS_SUFFIX = '.addr';
const V4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;

export interface DnsSource {
  readonly random: Random;
  /** @returns null: it is not known now */
  ask(name: string): Promise<KnownName | null>;
}

/**
 * Of `<port>.<group>.<job>.<namespace>.moorage`: A, AAAA, SRV, and TXT with how old the answer is. SRV also of
 * `_<port>._tcp.<group>.<job>.<namespace>.moorage`, as RFC 2782 has it.
 */
export async function answerDns(source: DnsSource, question: DnsQuestion): Promise<DnsAnswer> {
  const { name } = question;
  if (name === DNS_ZONE) return nothing('ok');
  if (!name.endsWith(SUFFIX)) return { code: 'refused', answers: [] };
  const within = name.slice(0, -SUFFIX.length);
  if (within === 'addr') return nothing('ok');
  if (within.endsWith(ADDRESS_SUFFIX))
    return addressAnswer(question, within.slice(0, -ADDRESS_SUFFIX.length));
  const service = readName(plainOf(within));
  // Above names there may be some: who asks label by label goes on.
  if (service === null) return nothing(isAbove(within) ? 'ok' : 'no-such-name');
  // What the cell itself consists of is told to nobody here.
  if (service.namespace === SYSTEM_NAMESPACE) return nothing('no-such-name');
  const known = await source.ask(nameText(service));
  if (known === null) return NOT_KNOWN;
  return { ...answerOf(question, known, source.random), ...noteOf(known) };
}

const NOT_KNOWN: DnsAnswer = {
  ...{ code: 'failed', answers: [] },
  note: { kind: 'not-ready', text: 'no monitor has told of it, or not for too long' },
};

function answerOf({ name, type }: DnsQuestion, known: KnownName, random: Random): DnsAnswer {
  if (!known.known) return nothing('no-such-name');
  const endpoints = shuffled(known.endpoints, random).slice(0, ENDPOINTS_TOLD_MAX);
  if (type === 'TXT') {
    const data = `age=${secondsText(known.ageMs)} endpoints=${String(known.endpoints.length)}`;
    return { code: 'ok', answers: [{ name, ttl: DNS_TTL, type, data }] };
  }
  const answers = recordsOf(name, type, endpoints);
  if (answers.length === 0) return nothing('ok');
  const additionals = type === 'SRV' ? endpoints.flatMap(({ address }) => targetRecord(address)) : [];
  return { code: 'ok', answers, additionals: distinct(additionals) };
}

function noteOf({ isStale, ageMs }: KnownName): Pick<DnsAnswer, 'note'> {
  if (!isStale) return {};
  return { note: { kind: 'stale', text: `told ${secondsText(ageMs)} ago; no monitor answers since` } };
}

function secondsText(ms: number): string {
  return `${(ms / 1_000).toFixed(1)}s`;
}

/** `_http._tcp.web.shop.default` → `http.web.shop.default` */
function plainOf(name: string): string {
  return name.replace(/^_([^.]+)\._tcp\./, '$1.');
}

function isAbove(name: string): boolean {
  const labels = name.replace(/^_tcp\./, '').split('.');
  return labels.length < 4 && labels.every((label) => readName(`a.b.c.${label}`) !== null);
}

/** Most askers take the first. */
function shuffled(endpoints: readonly Endpoint[], random: Random): Endpoint[] {
  const turned = [...endpoints];
  for (let left = turned.length; left > 1; left--) {
    const taken = random.below(left);
    const [a, b] = [turned[taken], turned[left - 1]];
    if (a !== undefined && b !== undefined) [turned[taken], turned[left - 1]] = [b, a];
  }
  return turned;
}

function recordsOf(name: string, type: string, endpoints: readonly Endpoint[]): readonly DnsRecord[] {
  const base = { name, ttl: DNS_TTL };
  if (type === 'SRV')
    return endpoints.map(({ address, port }) => ({
      ...base,
      type,
      data: { target: targetOf(address), port },
    }));
  if (type !== 'A' && type !== 'AAAA') return [];
  const found = distinct(
    endpoints.flatMap(({ address }) => (kindOf(address) === type ? [{ ...base, type, data: address }] : [])),
  );
  if (found.length > 0 || endpoints[0] === undefined) return found;
  // A host that is registered by its name; two such records of one name are against the rules.
  const { address } = endpoints[0];
  return kindOf(address) === null ? [{ ...base, type: 'CNAME', data: address }] : [];
}

/** null: it is a name. */
function kindOf(address: string): 'A' | 'AAAA' | null {
  if (V4.test(address)) return 'A';
  return address.includes(':') ? 'AAAA' : null;
}

/** Several instances of one host have its address in common. */
function distinct(records: readonly DnsRecord[]): readonly DnsRecord[] {
  return [...new Map(records.map((record) => [JSON.stringify([record.name, record.data]), record])).values()];
}

function targetOf(address: string): string {
  const kind = kindOf(address);
  if (kind === null) return address;
  return `${kind === 'A' ? hexOf4(address) : hexOf6(address)}${ADDRESS_SUFFIX}${SUFFIX}`;
}

function targetRecord(address: string): readonly DnsRecord[] {
  const kind = kindOf(address);
  return kind === null ? [] : [{ name: targetOf(address), ttl: DNS_TTL, type: kind, data: address }];
}

function addressAnswer({ name, type }: DnsQuestion, hex: string): DnsAnswer {
  const is4 = /^[0-9a-f]{8}$/.test(hex);
  if (!is4 && !/^[0-9a-f]{32}$/.test(hex)) return nothing('no-such-name');
  const kind = is4 ? 'A' : 'AAAA';
  if (type !== kind) return nothing('ok');
  const data = is4
    ? (hex.match(/../g) ?? []).map((byte) => String(parseInt(byte, 16))).join('.')
    : (hex.match(/..../g) ?? []).join(':');
  return { code: 'ok', answers: [{ name, ttl: DNS_TTL, type: kind, data }] };
}

function hexOf4(address: string): string {
  return address
    .split('.')
    .map((byte) => Number(byte).toString(16).padStart(2, '0'))
    .join('');
}

/** Without an IPv4 part. */
function hexOf6(address: string): string {
  const [before = '', after] = address.toLowerCase().split('::');
  const wordsOf = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [left, right] = [wordsOf(before), wordsOf(after ?? '')];
  const gap = after === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...gap, ...right].map((word) => word.padStart(4, '0')).join('');
}

function nothing(code: DnsCode): DnsAnswer {
  return { code, answers: [], authority: { zone: DNS_ZONE, ttl: DNS_TTL } };
}
